
extern "C" __global__ void __launch_bounds__(64)
shared_transpose_r0(const float* __restrict__ x_1, float* __restrict__ y_2) {
  [[maybe_unused]] const int bx_3 = blockIdx.x;
  [[maybe_unused]] const int by_4 = blockIdx.y;
  __shared__ __align__(16) float tile_5[72];
  {
    [[maybe_unused]] const int ty_6 = threadIdx.y;
    {
      [[maybe_unused]] const int tx_7 = threadIdx.x;
      if ((((by_4 * 8 + ty_6) < 21) && ((bx_3 * 8 + tx_7) < 34))) {
        {
          tile_5[(ty_6 * 9 + tx_7)] = x_1[(((by_4 * 272 + ty_6 * 34) + bx_3 * 8) + tx_7)];
        }
      }
    }
  }
  __syncthreads();
  {
    [[maybe_unused]] const int ty_8 = threadIdx.y;
    {
      [[maybe_unused]] const int tx_9 = threadIdx.x;
      if ((((bx_3 * 8 + ty_8) < 34) && ((by_4 * 8 + tx_9) < 21))) {
        {
          y_2[(((bx_3 * 168 + ty_8 * 21) + by_4 * 8) + tx_9)] = tile_5[(tx_9 * 9 + ty_8)];
        }
      }
    }
  }
}
