
extern "C" __global__ void __launch_bounds__(128)
warp_softmax_r0(const float* __restrict__ x_1, float* __restrict__ y_2) {
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
        if ((((b_3 * 4 + r_8) < 10) && ((c_10 * 32 + t_9) < 75))) {
          {
            float x0 = largest_4[0];
            const float y0 = x_1[(((b_3 * 300 + r_8 * 75) + c_10 * 32) + t_9)];
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
        top_5[0] = x0;
      }
    }
  }
  {
    [[maybe_unused]] const int r_14 = threadIdx.y;
    {
      [[maybe_unused]] const int t_15 = threadIdx.x;
      {
        part_6[0] = float(0.0f);
      }
      for (int c_16 = 0; c_16 < 3; ++c_16) {
        if ((((b_3 * 4 + r_14) < 10) && ((c_16 * 32 + t_15) < 75))) {
          {
            float x0 = part_6[0];
            const float y0 = exp((x_1[(((b_3 * 300 + r_14 * 75) + c_16 * 32) + t_15)] - top_5[0]));
            x0 = (x0 + y0);
            part_6[0] = x0;
          }
        }
      }
    }
  }
  {
    [[maybe_unused]] const int r_17 = threadIdx.y;
    {
      [[maybe_unused]] const int t_18 = threadIdx.x;
      {
        float x0 = part_6[0];
        #pragma unroll
        for (int offset_19 = 16; offset_19 > 0; offset_19 /= 2) {
          const float y0 = (float)__shfl_xor_sync(0xffffffffu, (float)x0, offset_19);
          x0 = (x0 + y0);
        }
        total_7[0] = x0;
      }
    }
  }
  {
    [[maybe_unused]] const int r_20 = threadIdx.y;
    {
      [[maybe_unused]] const int t_21 = threadIdx.x;
      for (int c_22 = 0; c_22 < 3; ++c_22) {
        if ((((b_3 * 4 + r_20) < 10) && ((c_22 * 32 + t_21) < 75))) {
          {
            y_2[(((b_3 * 300 + r_20 * 75) + c_22 * 32) + t_21)] = (exp((x_1[(((b_3 * 300 + r_20 * 75) + c_22 * 32) + t_21)] - top_5[0])) / total_7[0]);
          }
        }
      }
    }
  }
}
