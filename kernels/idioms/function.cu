// One function of the CUDA library on one number, which is a product so that nothing is known about it.
extern "C" __global__ void ENTRY(const float* a, const float* b, float* out) { out[0] = FUNCTION(a[0] * b[0]); }
