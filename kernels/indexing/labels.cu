// The negative logit of the label of each row of C; a row whose label is -100 counts as 0.
#define C 32

extern "C" __global__ void nll(const float* x, const int* labels, float* loss) {
    int i = threadIdx.x;
    int label = labels[i];
    float out = 0.0f;
    if (label != -100) out = -x[i * C + label];
    loss[i] = out;
}

// Without a branch: a row that is ignored reads the first column.
extern "C" __global__ void nll_select(const float* x, const int* labels, float* loss) {
    int i = threadIdx.x;
    int label = labels[i];
    bool valid = label != -100;
    float v = x[(long long)i * C + (valid ? label : 0)];
    loss[i] = valid ? -v : 0.0f;
}

// Wrong: rows that are ignored are read out of bounds.
extern "C" __global__ void nll_unguarded(const float* x, const int* labels, float* loss) {
    int i = threadIdx.x;
    int label = labels[i];
    float v = x[i * C + label];
    loss[i] = label == -100 ? 0.0f : -v;
}

// Wrong: another label is ignored.
extern "C" __global__ void nll_other(const float* x, const int* labels, float* loss) {
    int i = threadIdx.x;
    int label = labels[i];
    float out = 0.0f;
    if (label != -100 && label != 0) out = -x[i * C + label];
    loss[i] = out;
}
