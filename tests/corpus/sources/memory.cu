// Vector accesses, caches, constant and local memory, initialisers, textures and surfaces.
struct Pair { int a; double b; char c[5]; };
__constant__ float table[16] = {1, 2, 3.5f, -4};
__constant__ Pair pairs[2] = {{1, 2.5, "abc"}, {3, -1.0, "de"}};
__device__ int counter = 7; __device__ const char text[] = "hello, \"PTX\"\n"; __device__ float *pointer; __device__ int *address = &counter;
__managed__ int managed[4];
extern __shared__ float dynamic[];
extern "C" __global__ void memory(const float4 *__restrict__ a, float4 *b, const int2 *__restrict__ c, short *s, unsigned char *u, Pair p, int n, cudaTextureObject_t tex, cudaSurfaceObject_t surf) {
    __shared__ float4 tile[32]; __shared__ char bytes[40];
    int t = threadIdx.x, local[20];
    for (int i = 0; i < 20; i++) local[i] = i * t + n;
    float4 x = a[t]; x.x += table[n & 15] + local[n % 20] + p.b; tile[t & 31] = x; bytes[t % 40] = p.c[n % 5]; dynamic[t] = x.y;
    __syncthreads();
    float4 y = tile[(t + 1) & 31]; y.z += dynamic[t ^ 1] + bytes[n % 40] + pairs[n & 1].c[2] + text[n & 7] + *address + managed[t & 3];
    b[t] = y; b[t + 1] = __ldg(a + 1); b[t + 2] = __ldcg(a + 2); b[t + 3] = __ldcs(a + 3); b[t + 4] = __ldlu(a + 4); b[t + 5] = __ldcv(a + 5);
    __stcg(b + 6, x); __stcs(b + 7, y); __stwt(b + 8, x); __stwb(b + 9, y);
    int2 z = c[t]; s[t] = (short)z.x; s[t + 1] += u[t]; u[t] = (unsigned char)z.y; if (pointer) *pointer = y.x; counter += z.x;
    float4 w = tex2D<float4>(tex, x.x, x.y); float v = tex1Dfetch<float>(tex, t) + tex3D<float>(tex, x.x, x.y, x.z) + tex2DLod<float>(tex, x.x, 1, 2) + tex2DLayered<float>(tex, x.x, x.y, 1);
    float4 k = tex2Dgather<float4>(tex, x.x, x.y, 1); int q; surf2Dread(&q, surf, t * 4, 3); surf2Dwrite(q + 1, surf, t * 4, 4); surf1Dwrite((short)q, surf, t * 2);
    b[t + 10] = make_float4(w.x + v, k.y, q, w.w);
    asm volatile("prefetch.global.L2 [%0];\n\tprefetchu.L1 [%0];" :: "l"(b));
    unsigned r; asm volatile("{ .reg .pred q; isspacep.shared q, %1; selp.u32 %0, 1, 0, q; }" : "=r"(r) : "l"(b)); u[n] = r;
}
