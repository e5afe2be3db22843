// Activation functions, one value a thread: out[i] = f(in[i]), each function in two or three forms.  FUNCTION names
// one of the forms below.

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), and tanh(u) = 2 * sigmoid(2 * u) - 1.
const float root = 0.7978845608f, cubic = 0.044715f;
__device__ float gelu_tanh(float x) { return 0.5f * x * (1.0f + tanhf(root * (x + cubic * x * x * x))); }
__device__ float gelu_sigmoid(float x) { return x * sigmoid(2.0f * root * (x + cubic * x * x * x)); }
__device__ float gelu_sigmoid_once(float x) { return x * sigmoid(root * (x + cubic * x * x * x)); }
__device__ float gelu_tanh_no_half(float x) { return x * (1.0f + tanhf(root * (x + cubic * x * x * x))); }

// gelu(x) = x / 2 * (1 + erf(x / sqrt(2)))
__device__ float gelu_erf(float x) { return 0.5f * x * (1.0f + erff(x * 0.7071067811865475f)); }
__device__ float gelu_erf_factored(float x) { return (0.5f + 0.5f * erff(0.7071067811865475f * x)) * x; }
__device__ float gelu_erf_minus(float x) { return 0.5f * x * (1.0f - erff(x * 0.7071067811865475f)); }

// silu(x) = x * sigmoid(x)
__device__ float silu_product(float x) { return x * sigmoid(x); }
__device__ float silu_quotient(float x) { return x / (1.0f + expf(-x)); }
__device__ float silu_positive(float x) { return x / (1.0f + expf(x)); }

// sigmoid(x) = 1 / (1 + exp(-x)) = exp(x) / (1 + exp(x)) = (1 + tanh(x / 2)) / 2
__device__ float sigmoid_negative(float x) { return sigmoid(x); }
__device__ float sigmoid_positive(float x) { return expf(x) / (1.0f + expf(x)); }
__device__ float sigmoid_tanh(float x) { return 0.5f + 0.5f * tanhf(0.5f * x); }
__device__ float sigmoid_tanh_full(float x) { return 0.5f + 0.5f * tanhf(x); }

// softplus(x) = log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))
__device__ float softplus_plain(float x) { return logf(1.0f + expf(x)); }
__device__ float softplus_stable(float x) { return fmaxf(x, 0.0f) + logf(1.0f + expf(-fabsf(x))); }
__device__ float softplus_no_abs(float x) { return fmaxf(x, 0.0f) + logf(1.0f + expf(-x)); }

// leaky_relu(x) = x for x > 0, else x / 64
__device__ float leaky_relu_compare(float x) { return x > 0.0f ? x : 0.015625f * x; }
__device__ float leaky_relu_max(float x) { return fmaxf(x, 0.015625f * x); }
__device__ float leaky_relu_parts(float x) { return fmaxf(x, 0.0f) + 0.015625f * fminf(x, 0.0f); }
__device__ float leaky_relu_steep(float x) { return fmaxf(x, 0.03125f * x); }

// relu(x) = max(x, 0)
__device__ float relu_compare(float x) { return x > 0.0f ? x : 0.0f; }
__device__ float relu_max(float x) { return fmaxf(x, 0.0f); }
__device__ float relu_abs(float x) { return 0.5f * (x + fabsf(x)); }
__device__ float relu_of_negative(float x) { return x < 0.0f ? x : 0.0f; }

// hard_swish(x) = x * clamp(x + 3, 0, 6) / 6
__device__ float hard_swish_clamp(float x) { return x * fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) / 6.0f; }
__device__ float hard_swish_compare(float x)
{
    return x <= -3.0f ? 0.0f : x >= 3.0f ? x : x * (x + 3.0f) / 6.0f;
}
__device__ float hard_swish_no_upper(float x) { return x * fmaxf(x + 3.0f, 0.0f) / 6.0f; }

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    out[threadIdx.x] = FUNCTION(in[threadIdx.x]);
}
