// Functions without a body, of arguments whose bits make far places of a table.
extern __device__ int hashed(int a, int b);

extern "C" __global__ void hashed_far(int *out) { out[threadIdx.x] = hashed(threadIdx.x, threadIdx.x * 70000); }
