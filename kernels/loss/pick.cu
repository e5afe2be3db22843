// Cross-entropy of 8 rows of 10 logits.  PLAIN: the logit of the label is the sum over a one-hot mask.  Otherwise it is what the
// last comparison of a loop keeps, and the sum is rescaled by the maximum.
extern "C" __global__ void ENTRY(const float* logits, const long long* labels, float* out) {
    const float* row = logits + threadIdx.x * 10;
    long long label = labels[threadIdx.x];
    float picked = 0.f, sum = 0.f;
#ifdef PLAIN
    for (int j = 0; j < 10; j++) {
        sum += expf(row[j]);
        picked += (j == label) ? row[j] : 0.f;
    }
    out[threadIdx.x] = logf(sum) - picked;
#else
    float most = row[0];
    for (int j = 1; j < 10; j++) most = fmaxf(most, row[j]);
    for (int j = 0; j < 10; j++) {
        sum += __expf(row[j] - most);
#ifdef MUTANT_NEXT_LABEL
        if (label == j + 1) picked = row[j];
#else
        if (label == j) picked = row[j];
#endif
    }
    out[threadIdx.x] = __logf(sum) + most - picked;
#endif
}
