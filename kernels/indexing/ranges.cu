#define K extern "C" __global__ void
#define I int i = blockIdx.x * blockDim.x + threadIdx.x

// Numbers that the user says lie in a range: what a range decides, and twins that need a narrower one.

K copied(const float *x, float *y) { I; y[i] = x[i]; }
K at_least_zero(const float *x, float *y) { I; y[i] = fmaxf(x[i], 0.f); }
K within_one(const float *x, float *y) { I; y[i] = fminf(fmaxf(x[i], -1.f), 1.f); }
K absolute(const float *x, float *y) { I; y[i] = fabsf(x[i]); }
K root_of_square(const float *x, float *y) { I; y[i] = sqrtf(x[i] * x[i]); }

K guarded(const float *x, float *y) { I; float v = x[i]; y[i] = v + 1.f > 0.f ? v / (v + 1.f) : 0.f; }
K unguarded(const float *x, float *y) { I; float v = x[i]; y[i] = v / (v + 1.f); }

K found(const float *x, float *y) { I; float v = x[i] * x[i]; y[i] = isinf(v) ? 0.f : v; }
K squared(const float *x, float *y) { I; y[i] = x[i] * x[i]; }

K branches(const float *x, float *y) {
  I;
  float v = x[i], s = 0.f;
  if (v > 0.25f) s += v;
  if (v < -0.25f) s -= v;
  if (v * v > 5.f) s = 100.f;
  y[i] = s;
}
K branches_fewer(const float *x, float *y) {
  I;
  float v = x[i], s = 0.f;
  if (v > 0.25f) s += v;
  if (v < -0.25f) s -= v;
  y[i] = s;
}

K looked_up(const float *x, const float *table, float *y) { I; int k = (int)(x[i] * 4.f); y[i] = table[k]; }
K looked_up_limited(const float *x, const float *table, float *y) {
  I;
  int k = (int)(x[i] * 4.f);
  k = k < 0 ? 0 : k > 3 ? 3 : k;
  y[i] = table[k];
}

K lost(const float *x, float *y) { I; y[i] = (x[i] + 1e8f) - 1e8f > 0.f ? 1.f : 0.f; }
K one(const float *x, float *y) { I; y[i] = 1.f; }

K scaled(const float *x, float s, float *y) { I; y[i] = fmaxf(s * x[i], 0.f); }
K scaled_inside(const float *x, float s, float *y) { I; y[i] = s * fmaxf(x[i], 0.f); }

// At a zero with a sign the first is minus infinity.
K inverse(const float *x, float *y) { I; y[i] = __frcp_rn(x[i]); }
K inverse_of_larger(const float *x, float *y) { I; y[i] = __frcp_rn(fmaxf(x[i], 0.f)); }
