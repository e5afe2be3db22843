// A 3 x 3 convolution of a 10 x 10 image of CHANNELS channels with 32 filters, without padding: 8 x 8 places, 32 results at each.
// Channels are innermost, for the image and the filters.  PLAIN is the definition, with a thread for an element of the result.
// Otherwise it is a product of 64 rows (places), 32 columns (filters) and depth 9 * CHANNELS by mma.sync: 256 threads, a step for
// each tap of the filter and 16 channels, the offsets of places and steps computed once into shared memory, 16-byte loads, and two buffers: the
// vectors of the next step are on their way to registers while the tensor cores work on this one.
#include <cuda_fp16.h>

#ifndef CHANNELS
#define CHANNELS 16
#endif

const int SIDE = 10, OUT = 8, FILTERS = 32, TAPS = 9;

#ifdef PLAIN
extern "C" __global__ void ENTRY(const __half *image, const __half *filter, float *result) {
    for (int e = threadIdx.x; e < OUT * OUT * FILTERS; e += blockDim.x) {
        int place = e / FILTERS, f = e % FILTERS;
        float sum = 0.0f;
        for (int tap = 0; tap < TAPS; tap++) {
            const __half *x = image + ((place / OUT + tap / 3) * SIDE + place % OUT + tap % 3) * CHANNELS;
            const __half *w = filter + (f * TAPS + tap) * CHANNELS;
            for (int c = 0; c < CHANNELS; c++) {
                sum += __half2float(x[c]) * __half2float(w[c]);
            }
        }
        result[e] = sum;
    }
}
#else
// Rows of 16 values are 48 bytes apart, so that the eight rows of a matrix lie in different banks.
const int PITCH = 24;

const int PARTS = CHANNELS / 16, STEPS = TAPS * PARTS;

__device__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void ENTRY(const __half *image, const __half *filter, float *result) {
    __shared__ __align__(16) __half xs[2][OUT * OUT * PITCH];
    __shared__ __align__(16) __half ws[2][FILTERS * PITCH];
    __shared__ int places[OUT * OUT], steps[STEPS];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    if (t < OUT * OUT) {
        places[t] = (t / OUT * SIDE + t % OUT) * CHANNELS;
    } else if (t < OUT * OUT + STEPS) {
        int step = t - OUT * OUT, tap = step / PARTS, part = step % PARTS;
#ifdef MUTANT_TAP
        steps[step] = (tap % 3 * SIDE + tap / 3) * CHANNELS + part * 16;
#else
        steps[step] = (tap / 3 * SIDE + tap % 3) * CHANNELS + part * 16;
#endif
    }
#ifndef MUTANT_INDICES_UNSEEN
    __syncthreads();
#endif
    // Threads 0 to 127 bring two vectors for each place, 128 to 191 two for each filter.
    int row = t % 128 / 2, half = t % 2;
    bool brings = t < 192;
    auto fetch = [&](int step) {
        const __half *from = t < 128 ? image + places[row] + steps[step] : filter + (row * STEPS + step) * 16;
        return *(const int4 *)(from + half * 8);
    };
    auto put = [&](int buffer, int4 v) {
        __half *to = t < 128 ? xs[buffer] : ws[buffer];
        *(int4 *)(to + row * PITCH + half * 8) = v;
    };
    // A warp has 16 places and 16 filters.
    int m = warp / 2 * 16, n = warp % 2 * 16;
    float sum[2][4] = {};
    int4 next;
    if (brings) {
        put(0, fetch(0));
    }
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
        int buffer = step % 2;
        if (brings && step + 1 < STEPS) {
            next = fetch(step + 1);
        }
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
        unsigned x[4], w[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(address(xs[buffer] + (m + lane % 16) * PITCH + lane / 16 * 8))
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                     : "r"(address(ws[buffer] + (n + lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 8))
                     : "memory");
        for (int i = 0; i < 2; i++) {
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]), "+f"(sum[i][3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(w[2 * i]), "r"(w[2 * i + 1]));
        }
        if (brings && step + 1 < STEPS) {
#ifdef MUTANT_SAME_BUFFER
            put(buffer, next);
#else
            put(buffer ^ 1, next);
#endif
        }
    }
    for (int i = 0; i < 2; i++) {
        int place = m + lane / 4, f = n + 8 * i + lane % 4 * 2;
        *(float2 *)(result + place * FILTERS + f) = make_float2(sum[i][0], sum[i][1]);
        *(float2 *)(result + (place + 8) * FILTERS + f) = make_float2(sum[i][2], sum[i][3]);
    }
}
#endif
