// Functions of the CUDA library, each alone, by which the replay of certificates knows them: `library.py` says how.
// nvcc -ptx -arch=sm_80 library.cu -o library.ptx
#define OF(f, result) \
    extern "C" __global__ void of_##f(const float* x, float* y) { \
        result; \
    }
#define ONE(f) OF(f, y[0] = f(x[0]))
ONE(logf)
ONE(log2f)
ONE(log10f)
ONE(log1pf)
ONE(expm1f)
ONE(exp10f)
ONE(tanhf)
ONE(sinhf)
ONE(coshf)
ONE(asinhf)
ONE(acoshf)
ONE(atanhf)
ONE(sinf)
ONE(cosf)
ONE(erff)
ONE(erfcf)
ONE(normcdff)
ONE(cbrtf)
OF(sincosf, sincosf(x[0], y, y + 1))
