// Runs CUDA text on the CPU: a host thread for each thread of a block, blocks one after another.
// For the meaning only: barriers, shuffles and asynchronous copies do what they say, memory spaces are one.
#pragma once
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict

struct Position {
  unsigned x, y, z;
};

inline thread_local Position threadIdx, blockIdx;
inline Position blockDim;
alignas(16) inline char dynamic_shared[256 * 1024];

namespace emulation {

constexpr unsigned warp_size = 32;
using Barrier = std::barrier<>;
inline std::unique_ptr<Barrier> block_barrier;
inline std::vector<std::unique_ptr<Barrier>> warp_barriers;
inline std::vector<uint64_t> slots;

inline unsigned linear() { return threadIdx.y * blockDim.x + threadIdx.x; }

inline Barrier& warp() { return *warp_barriers[linear() / warp_size]; }

template <class Function>
void run(Position grid, Position block, Function function) {
  blockDim = block;
  const unsigned threads = block.x * block.y;
  block_barrier = std::make_unique<Barrier>(threads);
  warp_barriers.clear();
  for (unsigned first = 0; first < threads; first += warp_size)
    warp_barriers.push_back(std::make_unique<Barrier>(std::min(warp_size, threads - first)));
  slots.assign(threads, 0);
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([=] {
      threadIdx = {t % block.x, t / block.x, 0};
      for (unsigned b = 0; b < grid.x * grid.y * grid.z; ++b) {
        blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
        function();
        block_barrier->arrive_and_wait();
      }
    });
  for (auto& thread : running) thread.join();
}

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  kernel((A)arguments[I]...);
}

template <class... A>
void launch(void (*kernel)(A...), void** arguments, const int* grid, const int* block) {
  run({(unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2]}, {(unsigned)block[0], (unsigned)block[1], 1},
      [=] { call(kernel, arguments, std::index_sequence_for<A...>()); });
}

}  // namespace emulation

inline void __syncthreads() { emulation::block_barrier->arrive_and_wait(); }
inline void __syncwarp() { emulation::warp().arrive_and_wait(); }

template <class T>
T __shfl_xor_sync(unsigned, T value, int offset) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  const unsigned me = emulation::linear();
  std::memcpy(&emulation::slots[me], &value, sizeof(T));
  __syncwarp();
  T other;
  std::memcpy(&other, &emulation::slots[me ^ offset], sizeof(T));
  __syncwarp();
  return other;
}

inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0) {
  std::memcpy(to, from, size - zeros);
  std::memset((char*)to + size - zeros, 0, zeros);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(size_t) {}

using std::erf;
using std::exp;
