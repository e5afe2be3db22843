// The calls of the CUDA runtime and driver that hosts of kernels make, without a device: memory is the host's, and a launch
// is written down instead of being run. A program linked with this file prints, into the file that LAUNCHED names, a line for
// each launch: entry, grid, block, cluster, dynamic shared memory, and the bytes of each parameter, whose sizes SIZES tells (a line
// of an entry and numbers for each); and a line for each tensor map and each allocation, so that a reader finds what the bytes are.
// A tensor map is its number behind eight bytes that no other value has.

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {
std::map<const void*, std::string>& entries() { static std::map<const void*, std::string> all; return all; }
std::map<char*, size_t>& memory() { static std::map<char*, size_t> all; return all; }
std::map<std::string, int> shared;
struct { dim3 grid, block; size_t shared; cudaStream_t stream; } pushed;
unsigned maps = 0;

FILE* out() {
    static FILE* file = fopen(getenv("LAUNCHED"), "w");
    return file;
}

void hex(const void* from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) fprintf(out(), "%02x", static_cast<const unsigned char*>(from)[i]);
}

std::vector<size_t> sizes(const std::string& entry) {
    std::ifstream file(getenv("SIZES"));
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name != entry) continue;
        std::vector<size_t> all;
        for (size_t n; words >> n;) all.push_back(n);
        return all;
    }
    fprintf(stderr, "no sizes of the parameters of %s\n", entry.c_str());
    exit(2);
}

cudaError_t launch(const void* f, dim3 grid, dim3 block, dim3 cluster, size_t dynamic, void** args) {
    const std::string name = entries()[f];
    // Integers and pointers that the host has put into the device's memory are known; what is large is data.
    for (auto [at, bytes] : memory()) {
        fprintf(out(), "{\"memory\": %llu, \"bytes\": %zu, \"holds\": \"", (unsigned long long)at, bytes);
        if (bytes <= 1024) hex(at, bytes);
        fprintf(out(), "\"}\n");
    }
    fprintf(out(), "{\"entry\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"cluster\": [%u, %u, %u], \"shared\": %zu, \"parameters\": [",
            name.c_str(), grid.x, grid.y, grid.z, block.x, block.y, block.z, cluster.x, cluster.y, cluster.z, dynamic);
    size_t i = 0;
    for (size_t bytes : sizes(name)) {
        fprintf(out(), i ? ", \"" : "\"");
        hex(args[i++], bytes);
        fprintf(out(), "\"");
    }
    fprintf(out(), "]}\n");
    fflush(out());
    return cudaSuccess;
}

template <class T> void list(const char* name, const T* from, size_t n) {
    fprintf(out(), ", \"%s\": [", name);
    for (size_t i = 0; i < n; i++) fprintf(out(), i ? ", %lld" : "%lld", (long long)from[i]);
    fprintf(out(), "]");
}

void tensor_map(CUtensorMap* map, int type, unsigned rank, void* base, const cuuint64_t* dims, const cuuint64_t* strides, int swizzle) {
    memset(map, 0, sizeof *map);
    memcpy(map, "\xff\x7etensor", 8);
    memcpy(reinterpret_cast<char*>(map) + 8, &maps, 4);
    fprintf(out(), "{\"map\": %u, \"type\": %d, \"base\": %llu, \"swizzle\": %d", maps++, type, (unsigned long long)base, swizzle);
    list("dims", dims, rank);
    list("strides", strides, rank - 1);
}
}  // namespace

extern "C" {
void** __cudaRegisterFatBinary(void*) { static void* handle; return &handle; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* f, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) { entries()[f] = name; }
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
char __cudaInitModule(void**) { return 0; }
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic, cudaStream_t stream) {
    pushed = {grid, block, dynamic, stream};
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* dynamic, void* stream) {
    *grid = pushed.grid, *block = pushed.block, *dynamic = pushed.shared, *static_cast<cudaStream_t*>(stream) = pushed.stream;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* f) { *kernel = (cudaKernel_t)f; return cudaSuccess; }
cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 grid, dim3 block, void** args, size_t dynamic, cudaStream_t) {
    return launch(f, grid, block, dim3(1, 1, 1), dynamic, args);
}
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t f, dim3 grid, dim3 block, void** args, size_t dynamic, cudaStream_t) {
    return launch(f, grid, block, dim3(1, 1, 1), dynamic, args);
}
cudaError_t cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** args, size_t dynamic, cudaStream_t) {
    return launch(f, grid, block, dim3(1, 1, 1), dynamic, args);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* f, void** args) {
    dim3 cluster(1, 1, 1);
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == cudaLaunchAttributeClusterDimension) {
            auto& d = c->attrs[i].val.clusterDim;
            cluster = dim3(d.x, d.y, d.z);
        }
    return launch(f, c->gridDim, c->blockDim, cluster, c->dynamicSmemBytes, args);
}
cudaError_t cudaMalloc(void** at, size_t bytes) {
    size_t room = (bytes + 255) & ~size_t(255);
    *at = aligned_alloc(256, room ? room : 256);
    memset(*at, 0, room);
    memory()[static_cast<char*>(*at)] = bytes;
    return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** at, size_t bytes, cudaStream_t) { return cudaMalloc(at, bytes); }
cudaError_t cudaFree(void* at) { memory().erase(static_cast<char*>(at)); free(at); return cudaSuccess; }
cudaError_t cudaFreeAsync(void* at, cudaStream_t) { return cudaFree(at); }
cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind) { memcpy(to, from, n); return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind, cudaStream_t) { memcpy(to, from, n); return cudaSuccess; }
cudaError_t cudaMemset(void* to, int value, size_t n) { memset(to, value, n); return cudaSuccess; }
cudaError_t cudaMemsetAsync(void* to, int value, size_t n, cudaStream_t) { memset(to, value, n); return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "no device"; }
const char* cudaGetErrorName(cudaError_t) { return "no device"; }
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void*) { memset(a, 0, sizeof *a); a->maxThreadsPerBlock = 1024; return cudaSuccess; }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* at) {
    memset(a, 0, sizeof *a);
    a->type = cudaMemoryTypeDevice, a->devicePointer = const_cast<void*>(at);
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* d) { *d = 0; return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* n) { *n = 1; return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr a, int) {
    switch (a) {
        case cudaDevAttrMultiProcessorCount: *value = getenv("PROCESSORS") ? atoi(getenv("PROCESSORS")) : 2; break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 232448; break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 233472; break;
        case cudaDevAttrComputeCapabilityMajor: *value = getenv("MAJOR") ? atoi(getenv("MAJOR")) : 9; break;
        case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
        case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
        case cudaDevAttrWarpSize: *value = 32; break;
        default: *value = 1;
    }
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
    memset(p, 0, sizeof *p);
    cudaDeviceGetAttribute(&p->multiProcessorCount, cudaDevAttrMultiProcessorCount, 0);
    cudaDeviceGetAttribute(&p->major, cudaDevAttrComputeCapabilityMajor, 0);
    p->sharedMemPerBlockOptin = 232448, p->sharedMemPerMultiprocessor = 233472, p->warpSize = 32, p->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void*, int, size_t) { *n = 1; return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void*, int, size_t, unsigned) { *n = 1; return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveClusters(int* n, const void*, const cudaLaunchConfig_t*) { *n = 1; return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* e) { *e = nullptr; return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { *e = nullptr; return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { *ms = 1; return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaStreamCreate(cudaStream_t* s) { *s = nullptr; return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* v) { *v = 13000; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* v) { *v = 13000; return cudaSuccess; }

CUresult cuDriverGetVersion(int* v) { *v = 13000; return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** s) { *s = "no device"; return CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult, const char** s) { *s = "no device"; return CUDA_SUCCESS; }
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base, const cuuint64_t* dims,
                                const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps, CUtensorMapInterleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    tensor_map(map, type, rank, base, dims, strides, swizzle);
    list("box", box, rank);
    list("steps", steps, rank);
    fprintf(out(), "}\n");
    return CUDA_SUCCESS;
}
CUresult cuTensorMapReplaceAddress(CUtensorMap*, void*) { return CUDA_ERROR_NOT_SUPPORTED; }
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** f, unsigned, unsigned long long, cudaDriverEntryPointQueryResult* result) {
    static std::map<std::string, void*> all = {{"cuTensorMapEncodeTiled", (void*)cuTensorMapEncodeTiled},
                                               {"cuDriverGetVersion", (void*)cuDriverGetVersion},
                                               {"cuGetErrorString", (void*)cuGetErrorString}};
    *f = all.count(name) ? all[name] : nullptr;
    if (result) *result = *f ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return *f ? cudaSuccess : cudaErrorNotSupported;
}
}
