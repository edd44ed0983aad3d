
extern "C" __global__ void __launch_bounds__(128)
block_softmax_r0(const float* __restrict__ x_1, float* __restrict__ y_2) {
  [[maybe_unused]] const int b_3 = blockIdx.x;
  float largest_4[1];
  float top_5[1];
  float part_6[1];
  float total_7[1];
  {
    [[maybe_unused]] const int r_8 = threadIdx.y;
    {
      [[maybe_unused]] const int t_9 = threadIdx.x;
      {
        largest_4[0] = float(-INFINITY);
      }
      for (int c_10 = 0; c_10 < 3; ++c_10) {
        if (((c_10 * 128 + t_9) < 300)) {
          {
            float x0 = largest_4[0];
            const float y0 = x_1[((b_3 * 300 + c_10 * 128) + t_9)];
            x0 = larger(x0, y0);
            largest_4[0] = x0;
          }
        }
      }
    }
  }
  {
    [[maybe_unused]] const int r_11 = threadIdx.y;
    {
      [[maybe_unused]] const int t_12 = threadIdx.x;
      {
        float x0 = largest_4[0];
        #pragma unroll
        for (int offset_13 = 16; offset_13 > 0; offset_13 /= 2) {
          const float y0 = (float)__shfl_xor_sync(0xffffffffu, (float)x0, offset_13);
          x0 = larger(x0, y0);
        }
        __shared__ float folded_14[1][4];
        if (threadIdx.x % 32 == 0) {
          folded_14[threadIdx.y][threadIdx.x / 32] = x0;
        }
        __syncthreads();
        x0 = folded_14[threadIdx.y][0];
        for (int w_15 = 1; w_15 < 4; ++w_15) {
          const float y0 = folded_14[threadIdx.y][w_15];
          x0 = larger(x0, y0);
        }
        __syncthreads();
        top_5[0] = x0;
      }
    }
  }
  {
    [[maybe_unused]] const int r_16 = threadIdx.y;
    {
      [[maybe_unused]] const int t_17 = threadIdx.x;
      {
        part_6[0] = float(0.0f);
      }
      for (int c_18 = 0; c_18 < 3; ++c_18) {
        if (((c_18 * 128 + t_17) < 300)) {
          {
            float x0 = part_6[0];
            const float y0 = exp((x_1[((b_3 * 300 + c_18 * 128) + t_17)] - top_5[0]));
            x0 = (x0 + y0);
            part_6[0] = x0;
          }
        }
      }
    }
  }
  {
    [[maybe_unused]] const int r_19 = threadIdx.y;
    {
      [[maybe_unused]] const int t_20 = threadIdx.x;
      {
        float x0 = part_6[0];
        #pragma unroll
        for (int offset_21 = 16; offset_21 > 0; offset_21 /= 2) {
          const float y0 = (float)__shfl_xor_sync(0xffffffffu, (float)x0, offset_21);
          x0 = (x0 + y0);
        }
        __shared__ float folded_22[1][4];
        if (threadIdx.x % 32 == 0) {
          folded_22[threadIdx.y][threadIdx.x / 32] = x0;
        }
        __syncthreads();
        x0 = folded_22[threadIdx.y][0];
        for (int w_23 = 1; w_23 < 4; ++w_23) {
          const float y0 = folded_22[threadIdx.y][w_23];
          x0 = (x0 + y0);
        }
        __syncthreads();
        total_7[0] = x0;
      }
    }
  }
  {
    [[maybe_unused]] const int r_24 = threadIdx.y;
    {
      [[maybe_unused]] const int t_25 = threadIdx.x;
      for (int c_26 = 0; c_26 < 3; ++c_26) {
        if (((c_26 * 128 + t_25) < 300)) {
          {
            y_2[((b_3 * 300 + c_26 * 128) + t_25)] = (exp((x_1[((b_3 * 300 + c_26 * 128) + t_25)] - top_5[0])) / total_7[0]);
          }
        }
      }
    }
  }
}
