// Input data decides which of two stores writes a word that another thread reads.
//
//     out[i] = f(in[i ^ 32]),   f(x) = 2x for x > 0, x^2 otherwise
//
// PLAIN: in registers.   MUTANT_NO_BARRIER: the word is read at once.   MUTANT_ONE_STORE: one of the stores is missing.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int i = threadIdx.x;
#ifdef PLAIN
    float x = in[i ^ 32];
    out[i] = x > 0.0f ? 2.0f * x : x * x;
#else
    __shared__ float s[64];
    float x = in[i];
    unsigned at = __cvta_generic_to_shared(&s[i]);
    asm volatile("{ .reg .pred p; setp.gt.f32 p, %1, 0f00000000; @p st.shared.f32 [%0], %2;"
#ifndef MUTANT_ONE_STORE
                 " @!p st.shared.f32 [%0], %3;"
#endif
                 " }" ::"r"(at), "f"(x), "f"(2.0f * x), "f"(x * x) : "memory");
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif
    out[i] = s[i ^ 32];
#endif
}
