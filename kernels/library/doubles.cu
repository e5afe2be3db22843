// Functions of doubles, plainly and otherwise.
#define KERNEL extern "C" __global__ void

KERNEL sigmoid(const double* x, double* y) { y[threadIdx.x] = 1.0 / (1.0 + exp(-x[threadIdx.x])); }
KERNEL sigmoid_quotient(const double* x, double* y) {
    double e = exp(x[threadIdx.x]);
    y[threadIdx.x] = e / (1.0 + e);
}
KERNEL sigmoid_two(const double* x, double* y) {
    double e = exp(x[threadIdx.x]);
    y[threadIdx.x] = e / (2.0 + e);
}

KERNEL softmax(const double* x, double* y) {
    double m = x[0], s = 0;
    for (int i = 1; i < 4; i++) m = fmax(m, x[i]);
    for (int i = 0; i < 4; i++) s += exp(x[i] - m);
    y[threadIdx.x] = exp(x[threadIdx.x] - m) / s;
}
KERNEL softmax_plain(const double* x, double* y) {
    double s = 0;
    for (int i = 0; i < 4; i++) s += exp(x[i]);
    y[threadIdx.x] = exp(x[threadIdx.x]) / s;
}
KERNEL softmax_short(const double* x, double* y) {
    double s = 0;
    for (int i = 0; i < 3; i++) s += exp(x[i]);
    y[threadIdx.x] = exp(x[threadIdx.x]) / s;
}

KERNEL tangent(const double* x, double* y) { y[threadIdx.x] = tanh(x[threadIdx.x]); }
KERNEL tangent_quotient(const double* x, double* y) {
    double e = exp(2 * x[threadIdx.x]);
    y[threadIdx.x] = (e - 1) / (e + 1);
}
KERNEL tangent_two(const double* x, double* y) {
    double e = exp(2 * x[threadIdx.x]);
    y[threadIdx.x] = (e - 1) / (e + 2);
}
