// Numbers to bytes: rounded to the nearest and clamped as floats (PLAIN), or converted to integers first and clamped then.
extern "C" __global__ void ENTRY(const float* in, const float* scale, signed char* out) {
    float v = in[threadIdx.x] * scale[0];
#ifdef PLAIN
    out[threadIdx.x] = (signed char)fminf(fmaxf(rintf(v), -128.f), 127.f);
#elif defined(MUTANT_DOWN)
    out[threadIdx.x] = (signed char)max(-128, min(127, __float2int_rd(v)));
#else
    out[threadIdx.x] = (signed char)max(-128, min(127, __float2int_rn(v)));
#endif
}
