"""Nest to CUDA text: one `__global__` function a region.

Blocks come from the region's block loops, threads from the thread loops below it. Everything outside thread loops is
executed by all threads alike, so barriers may stand there; a thread loop binds its variable to the thread's index.
"""

from autosched.codegen.cuda.kernel import CudaKernel, Launch, cuda_kernel

__all__ = ["CudaKernel", "Launch", "cuda_kernel"]
