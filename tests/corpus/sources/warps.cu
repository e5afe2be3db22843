// Warp communication, votes, named barriers, special registers, nanosleep, clocks.
extern "C" __global__ void warps(int *a, float *f, unsigned long long *c, int n) {
    int t = threadIdx.x, r = a[t];
    unsigned m = __activemask();
    r += __shfl_sync(~0u, r, 3) + __shfl_up_sync(~0u, r, 1) + __shfl_down_sync(~0u, r, 2, 16) + __shfl_xor_sync(~0u, r, 4, 8);
    float g = __shfl_xor_sync(~0u, f[t], 16); double d = __shfl_down_sync(~0u, (double)g, 1); long long l = __shfl_sync(~0u, c[t], t & 7);
    r += __all_sync(~0u, r > 1) + __any_sync(m, r < 5) + __ballot_sync(~0u, r & 1) + __uni_sync(~0u, r);
    __syncwarp(); __syncwarp(0xffff);
    r += __match_any_sync(~0u, r); int p; r += __match_all_sync(~0u, l, &p) + p;
#if __CUDA_ARCH__ >= 800
    r += __reduce_add_sync(~0u, r) + __reduce_max_sync(~0u, (unsigned)r) + __reduce_or_sync(~0u, (unsigned)r);
#endif
    asm volatile("bar.sync 1, 64;\n\tbar.arrive 2, 128;\n\tbarrier.sync 3, 64;" ::: "memory");
    asm volatile("{ .reg .pred q, z; setp.gt.s32 q, %1, 3; bar.red.or.pred z, 4, q; selp.s32 %0, 1, 0, z; bar.red.popc.u32 %0, 5, q; }" : "=r"(p) : "r"(r) : "memory");
    unsigned x, y; asm volatile("mov.u32 %0, %%laneid;\n\tmov.u32 %1, %%warpid;" : "=r"(x), "=r"(y));
    unsigned e; asm volatile("mov.u32 %0, %%lanemask_lt;\n\tmov.u32 %0, %%smid;\n\tmov.u32 %0, %%nsmid;\n\tmov.u32 %0, %%gridid;\n\tmov.u32 %0, %%dynamic_smem_size;" : "=r"(e));
    c[t] = clock64() + clock() + x + y + e + blockIdx.y * gridDim.z + blockDim.y + threadIdx.z + warpSize;
    if (n > 3) __nanosleep(100);
    if (n == 12345) __trap();
    if (n == 12346) __brkpt();
    if (n == 12347) asm volatile("pmevent 3;\n\texit;");
    a[t] = r + p; f[t] = g + (float)d;
}
