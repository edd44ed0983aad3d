"""Running kernels outside of measuring: one kernel, a whole graph, a directory that was built for deployment.

In: kernels with their shared objects, a graph's plan and constants. Out: callables on arrays. It must not know how the
kernels were found.
"""
