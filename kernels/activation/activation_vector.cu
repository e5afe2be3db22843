// The error-function form of gelu, four values a thread: out[i] = in[i] / 2 * (1 + erf(in[i] / sqrt(2))).

__device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.7071067811865475f)); }

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    float4 v = reinterpret_cast<const float4 *>(in)[threadIdx.x];
    v.x = gelu(v.x);
    v.y = gelu(v.y);
    v.z = gelu(v.z);
    v.w = gelu(v.w);
    reinterpret_cast<float4 *>(out)[threadIdx.x] = v;
}
