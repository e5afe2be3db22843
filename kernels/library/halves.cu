// Functions of halves as the library has them: the last bit of a few results is corrected, where an approximate instruction
// misses it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define OF(name, type, argument, result)                                                            \
    extern "C" __global__ void name(const type *x, type *y) {                                       \
        const type v = x[threadIdx.x];                                                              \
        y[threadIdx.x] = result;                                                                    \
    }
#define BY(name, wide)                                                                              \
    OF(name##_one, __half, v, h##name(v))                                                           \
    OF(name##_two, __half2, v, h2##name(v))                                                         \
    OF(name##_single, __half, v, __float2half(wide))

BY(exp, expf(__half2float(v)))
BY(exp2, exp2f(__half2float(v)))
BY(exp10, exp10f(__half2float(v)))
BY(log, logf(__half2float(v)))
BY(log2, log2f(__half2float(v)))
BY(log10, log10f(__half2float(v)))
OF(exp10_brain, __nv_bfloat16, v, hexp10(v))
OF(log10_brain, __nv_bfloat16, v, hlog10(v))
OF(exp_of_product, __half, v, hexp(__hmul(v, v)))

// A correction by hand: of eight units in the last place, and at another argument.
__device__ __half corrected(__half v, unsigned short argument, float correction) {
    const __half power = __float2half(expf(__half2float(v)));
    return __half2float(v) == __half2float(__ushort_as_half(argument)) ? __hadd(power, __float2half(correction)) : power;
}
OF(exp_by_eight, __half, v, corrected(v, 0x4000, 0.0625f))
OF(exp_elsewhere, __half, v, corrected(v, 0x4000, -0.00390625f))
