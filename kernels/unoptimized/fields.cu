// Fields of a word that was never written as a whole.
struct Group {
    unsigned kind : 1;
    unsigned level : 7;
    unsigned size : 24;
};

__device__ __noinline__ void start(Group* group) {
    group->level = 3;
    group->kind = 0;
}

extern "C" __global__ void ENTRY(const float* in, float* out) {
#ifdef PLAIN
    out[threadIdx.x] = threadIdx.x > 3 ? 3.f * in[threadIdx.x] : 0.f;
#else
    Group group;
    start(&group);
#ifndef MUTANT_NO_SIZE
    group.size = threadIdx.x;
#endif
    out[threadIdx.x] = group.size > 3 ? float(group.level) * in[threadIdx.x] : 0.f;
#endif
}
