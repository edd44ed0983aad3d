#include <cuda_pipeline.h>

extern "C" __global__ void __launch_bounds__(64)
shared_matmul_r0(const float* __restrict__ a_1, const float* __restrict__ b_2, float* __restrict__ c_3) {
  [[maybe_unused]] const int bx_4 = blockIdx.x;
  [[maybe_unused]] const int by_5 = blockIdx.y;
  __shared__ __align__(16) float a_tile_6[264];
  __shared__ __align__(16) float b_tile_7[256];
  float acc_8[16];
  {
    [[maybe_unused]] const int y_9 = threadIdx.y;
    {
      [[maybe_unused]] const int x_10 = threadIdx.x;
      {
        #pragma unroll
        for (int i_11 = 0; i_11 < 4; ++i_11) {
          #pragma unroll
          for (int j_12 = 0; j_12 < 4; ++j_12) {
            {
              acc_8[(i_11 * 4 + j_12)] = float(0.0f);
            }
          }
        }
      }
    }
  }
  for (int ko_13 = 0; ko_13 < 5; ++ko_13) {
    {
      for (int e_14 = threadIdx.y * 8 + threadIdx.x; e_14 < 256; e_14 += 64) {
        const int q_15 = e_14 % 32;
        const int e_16 = e_14 / 32;
        const int p_17 = e_16;
        a_tile_6[(p_17 * 33 + q_15)] = ((bool)((((ko_13 * 8 + p_17) < 37) && ((by_5 * 32 + q_15) < 50))) ? a_1[(((by_5 * 1184 + q_15 * 37) + ko_13 * 8) + p_17)] : float(0.0f));
      }
    }
    {
      for (int e_18 = threadIdx.y * 8 + threadIdx.x; e_18 < 256; e_18 += 64) {
        const int q_19 = e_18 % 32;
        const int e_20 = e_18 / 32;
        const int p_21 = e_20;
        __pipeline_memcpy_async(&b_tile_7[(p_21 * 32 + q_19)], (((ko_13 * 8 + p_21) < 37) && ((bx_4 * 32 + q_19) < 70)) ? &b_2[(((ko_13 * 560 + p_21 * 70) + bx_4 * 32) + q_19)] : b_2, sizeof(float), (((ko_13 * 8 + p_21) < 37) && ((bx_4 * 32 + q_19) < 70)) ? 0 : sizeof(float));
      }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    {
      [[maybe_unused]] const int y_22 = threadIdx.y;
      {
        [[maybe_unused]] const int x_23 = threadIdx.x;
        for (int kk_24 = 0; kk_24 < 8; ++kk_24) {
          {
            #pragma unroll
            for (int i_25 = 0; i_25 < 4; ++i_25) {
              #pragma unroll
              for (int j_26 = 0; j_26 < 4; ++j_26) {
                {
                  float x0 = acc_8[(i_25 * 4 + j_26)];
                  const float y0 = (a_tile_6[((kk_24 * 33 + y_22 * 4) + i_25)] * b_tile_7[((kk_24 * 32 + x_23 * 4) + j_26)]);
                  x0 = (x0 + y0);
                  acc_8[(i_25 * 4 + j_26)] = x0;
                }
              }
            }
          }
        }
      }
    }
    __syncthreads();
  }
  {
    [[maybe_unused]] const int y_27 = threadIdx.y;
    {
      [[maybe_unused]] const int x_28 = threadIdx.x;
      if ((((by_5 * 32 + y_27 * 4) < 50) && ((bx_4 * 32 + x_28 * 4) < 70))) {
        {
          const int n_30 = (((by_5 * 32 + y_27 * 4) + 4) <= 50) ? 4 : 2;
          const int n_32 = (((bx_4 * 32 + x_28 * 4) + 4) <= 70) ? 4 : 2;
          #pragma unroll
          for (int i_29 = 0; i_29 < 4; ++i_29) if (i_29 < n_30) {
            #pragma unroll
            for (int j_31 = 0; j_31 < 4; ++j_31) if (j_31 < n_32) {
              {
                c_3[(((((by_5 * 2240 + y_27 * 280) + i_29 * 70) + bx_4 * 32) + x_28 * 4) + j_31)] = acc_8[(i_29 * 4 + j_31)];
              }
            }
          }
        }
      }
    }
  }
}
