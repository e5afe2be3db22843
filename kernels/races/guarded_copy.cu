// Asynchronous copies that input data decides about: by a guard, or by the number of bytes that are read.
//
//     out[i] = in[4i + 7 mod 256] where mask of its four is positive, 0 otherwise
//
// PLAIN: loads.   FILLED: a copy that reads nothing fills with zeros; without it zeros are written before, and the copy is
// guarded.   MUTANT_NO_WAIT, MUTANT_NO_BARRIER.   MUTANT_ALL: the copy is not guarded.

extern "C" __global__ void ENTRY(const float *in, const float *mask, float *out)
{
    int i = threadIdx.x, from = (4 * i + 7) % 256;
#ifdef PLAIN
    out[i] = mask[from / 4] > 0.0f ? in[from] : 0.0f;
#else
    __shared__ __align__(16) float s[256];
    unsigned at = __cvta_generic_to_shared(&s[4 * i]);
#ifdef FILLED
    int bytes = mask[i] > 0.0f ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(in + 4 * i), "r"(bytes) : "memory");
#else
    for (int j = 0; j < 4; ++j)
        s[4 * i + j] = 0.0f;
#ifdef MUTANT_ALL
    float m = 1.0f;
#else
    float m = mask[i];
#endif
    asm volatile("{ .reg .pred p; setp.gt.f32 p, %2, 0f00000000; @p cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(at),
                 "l"(in + 4 * i), "f"(m)
                 : "memory");
#endif
    asm volatile("cp.async.commit_group;" ::: "memory");
#ifndef MUTANT_NO_WAIT
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif
    out[i] = s[from];
#endif
}
