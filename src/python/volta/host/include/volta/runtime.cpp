// A stand-in of the CUDA runtime: launches, copies and fills are written down, in order, and nothing runs.
//
// Each extension links its own copy, hidden from the process, so that torch's runtime is never asked. The device that it describes
// has the limits of the program's target; what it cannot record is a gap (`gap`), never a success that means nothing.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <map>
#include <string>
#include <vector>

namespace {
std::map<const void*, std::string>& names() { static std::map<const void*, std::string> m; return m; }
std::map<const void*, size_t>& extents() { static std::map<const void*, size_t> m; return m; }
struct Configuration { dim3 grid, block; size_t shared; cudaStream_t stream; };
std::vector<Configuration>& pushed() { static std::vector<Configuration> v; return v; }
cudaError_t last = cudaSuccess;
int handle;

// Asks the recorder; an exception there is printed and is an error here.
PyObject* ask(const char* function, PyObject* arguments) {
  PyObject* module = PyImport_ImportModule("volta.host.bridge");
  PyObject* f = module ? PyObject_GetAttrString(module, function) : nullptr;
  PyObject* r = f && arguments ? PyObject_CallObject(f, arguments) : nullptr;
  if (!r) PyErr_Print();
  Py_XDECREF(arguments);
  Py_XDECREF(f);
  Py_XDECREF(module);
  return r;
}
cudaError_t remember(cudaError_t e) { if (e != cudaSuccess) last = e; return e; }
cudaError_t event(const char* function, PyObject* arguments) {
  PyGILState_STATE g = PyGILState_Ensure();
  PyObject* r = ask(function, arguments);
  cudaError_t e = r ? cudaError_t(PyLong_AsLong(r)) : cudaErrorUnknown;
  Py_XDECREF(r);
  PyGILState_Release(g);
  return remember(e);
}
long long number(const char* function, PyObject* arguments) {
  PyGILState_STATE g = PyGILState_Ensure();
  PyObject* r = ask(function, arguments);
  long long v = r ? PyLong_AsLongLong(r) : 0;
  Py_XDECREF(r);
  PyGILState_Release(g);
  return v;
}
cudaError_t gap(const char* what) { event("gap", Py_BuildValue("(s)", what)); return cudaErrorNotSupported; }
const char* name_of(const void* f) { auto i = names().find(f); return i == names().end() ? "" : i->second.c_str(); }
long long whole(const void* p) { return (long long)(intptr_t)p; }
cudaError_t launch(const void* f, dim3 g, dim3 b, void** a, size_t shared, cudaStream_t s, int cooperative, dim3 cluster) {
  return event("launch", Py_BuildValue("(s(III)(III)LLLi(III))", name_of(f), g.x, g.y, g.z, b.x, b.y, b.z, (long long)shared, whole(s), whole(a), cooperative, cluster.x, cluster.y, cluster.z));
}
}  // namespace

extern "C" {
void** __cudaRegisterFatBinary(void*) { return (void**)&handle; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* device, int, uint3*, uint3*, dim3*, dim3*, int*) { names()[host] = device; }
void __cudaRegisterVar(void**, char* host, char*, const char* device, int, size_t size, int, int) { names()[host] = device; extents()[host] = size; }
void __cudaRegisterManagedVar(void**, void** host, char*, const char* device, int, size_t size, int, int) { names()[host] = device; extents()[host] = size; }
char __cudaInitModule(void**) { return 1; }
unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t shared, struct CUstream_st* s) { pushed().push_back({g, b, shared, s}); return 0; }
cudaError_t __cudaPopCallConfiguration(dim3* g, dim3* b, size_t* shared, void* s) {
  if (pushed().empty()) return cudaErrorMissingConfiguration;
  Configuration c = pushed().back();
  pushed().pop_back();
  *g = c.grid; *b = c.block; *shared = c.shared; *(cudaStream_t*)s = c.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* k, const void* f) { *k = (cudaKernel_t)f; return cudaSuccess; }
cudaError_t cudaLaunchKernel(const void* f, dim3 g, dim3 b, void** a, size_t shared, cudaStream_t s) { return launch(f, g, b, a, shared, s, 0, dim3(0, 0, 0)); }
cudaError_t cudaLaunchKernel_ptsz(const void* f, dim3 g, dim3 b, void** a, size_t shared, cudaStream_t s) { return cudaLaunchKernel(f, g, b, a, shared, s); }
cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 g, dim3 b, void** a, size_t shared, cudaStream_t s) { return cudaLaunchKernel((const void*)f, g, b, a, shared, s); }
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t f, dim3 g, dim3 b, void** a, size_t shared, cudaStream_t s) { return cudaLaunchKernel((const void*)f, g, b, a, shared, s); }
cudaError_t cudaLaunchCooperativeKernel(const void* f, dim3 g, dim3 b, void** a, size_t shared, cudaStream_t s) { return launch(f, g, b, a, shared, s, 1, dim3(0, 0, 0)); }
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* f, void** a) {
  int cooperative = 0;
  dim3 cluster(0, 0, 0);
  for (unsigned i = 0; i < c->numAttrs; ++i) {
    const auto& at = c->attrs[i];
    if (at.id == cudaLaunchAttributeCooperative) cooperative = at.val.cooperative;
    if (at.id == cudaLaunchAttributeClusterDimension) cluster = dim3(at.val.clusterDim.x, at.val.clusterDim.y, at.val.clusterDim.z);
  }
  return launch(f, c->gridDim, c->blockDim, a, c->dynamicSmemBytes, c->stream, cooperative, cluster);
}
cudaError_t cudaGetLastError() { cudaError_t e = last; last = cudaSuccess; return e; }
cudaError_t cudaPeekAtLastError() { return last; }
const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDeviceFunction: return "invalid device function";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorNotSupported: return "operation not supported";
    default: return "unrecognized error code";
  }
}
const char* cudaGetErrorName(cudaError_t e) { return cudaGetErrorString(e); }
cudaError_t cudaDeviceSynchronize() { return last; }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaSetDevice(int d) { return d == 0 ? cudaSuccess : remember(cudaErrorInvalidDevice); }
cudaError_t cudaGetDevice(int* d) { *d = 0; return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* n) { *n = 1; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* v) { *v = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* v) { *v = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaStreamCreate(cudaStream_t* s) { *s = (cudaStream_t)(intptr_t)number("stream", PyTuple_New(0)); return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return cudaStreamCreate(s); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int) { return cudaStreamCreate(s); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t s) { return event("synchronize", Py_BuildValue("(L)", whole(s))); }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) { return event("stream_waits", Py_BuildValue("(LL)", whole(s), whole(e))); }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* s) { *s = cudaStreamCaptureStatusNone; return cudaSuccess; }
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { return gap("cudaStreamBeginCapture"); }
cudaError_t cudaEventCreate(cudaEvent_t* e) { *e = (cudaEvent_t)(intptr_t)number("stream", PyTuple_New(0)); return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return cudaEventCreate(e); }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) { return event("event_recorded", Py_BuildValue("(LL)", whole(e), whole(s))); }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned) { return cudaEventRecord(e, s); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { *ms = 1; return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaFuncSetAttribute(const void* f, cudaFuncAttribute a, int v) { return event("function_attribute", Py_BuildValue("(sii)", name_of(f), (int)a, v)); }
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t f, cudaFuncAttribute a, int v, int) { return cudaFuncSetAttribute((const void*)f, a, v); }
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceGetLimit(size_t* v, cudaLimit) { *v = 1024; return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void* f) {
  memset(a, 0, sizeof *a);
  a->ptxVersion = a->binaryVersion = 80;
  a->maxThreadsPerBlock = 1024;
  a->numRegs = 32;
  a->sharedSizeBytes = number("static_shared", Py_BuildValue("(s)", name_of(f)));
  a->maxDynamicSharedSizeBytes = 49152 - (int)a->sharedSizeBytes;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, size_t n) {
  *p = (void*)(intptr_t)number("allocate", Py_BuildValue("(L)", (long long)n));
  return *p || !n ? cudaSuccess : remember(cudaErrorMemoryAllocation);
}
cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t) { return cudaMalloc(p, n); }
cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t w, size_t h) { *pitch = (w + 511) / 512 * 512; return cudaMalloc(p, *pitch * h); }
cudaError_t cudaMallocManaged(void**, size_t, unsigned) { return gap("managed memory"); }
cudaError_t cudaFree(void* p) { return event("release", Py_BuildValue("(L)", whole(p))); }
cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
cudaError_t cudaMallocHost(void** p, size_t n) { *p = calloc(1, n); return cudaSuccess; }
cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) { return cudaMallocHost(p, n); }
cudaError_t cudaFreeHost(void* p) { free(p); return cudaSuccess; }
cudaError_t cudaHostGetDevicePointer(void**, void*, unsigned) { return gap("mapped host memory"); }
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t* f, size_t* t) { *f = *t = size_t(40) << 30; return cudaSuccess; }
cudaError_t cudaMemset(void* p, int v, size_t n) { return event("fill", Py_BuildValue("(LiLL)", whole(p), v, (long long)n, 0LL)); }
cudaError_t cudaMemsetAsync(void* p, int v, size_t n, cudaStream_t s) { return event("fill", Py_BuildValue("(LiLL)", whole(p), v, (long long)n, whole(s))); }
cudaError_t cudaMemcpyAsync(void* d, const void* s, size_t n, cudaMemcpyKind k, cudaStream_t st) { return event("copy", Py_BuildValue("(LLLiL)", whole(d), whole(s), (long long)n, (int)k, whole(st))); }
cudaError_t cudaMemcpy(void* d, const void* s, size_t n, cudaMemcpyKind k) { return cudaMemcpyAsync(d, s, n, k, nullptr); }
cudaError_t cudaMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind) { return gap("cudaMemcpy2D"); }
cudaError_t cudaMemcpyToSymbol(const void* d, const void* s, size_t n, size_t o, cudaMemcpyKind k) { return event("copy_to_symbol", Py_BuildValue("(sLLLi)", name_of(d), whole(s), (long long)n, (long long)o, (int)k)); }
cudaError_t cudaMemcpyToSymbolAsync(const void* d, const void* s, size_t n, size_t o, cudaMemcpyKind k, cudaStream_t) { return cudaMemcpyToSymbol(d, s, n, o, k); }
cudaError_t cudaMemcpyFromSymbol(void*, const void*, size_t, size_t, cudaMemcpyKind) { return gap("cudaMemcpyFromSymbol"); }
cudaError_t cudaGetSymbolAddress(void**, const void*) { return gap("cudaGetSymbolAddress"); }
cudaError_t cudaGetSymbolSize(size_t* n, const void* s) { *n = extents()[s]; return cudaSuccess; }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  memset(a, 0, sizeof *a);
  bool device = number("is_device_pointer", Py_BuildValue("(L)", whole(p)));
  a->type = device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  if (device) a->devicePointer = (void*)p;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int) {
  *v = (int)number("device_attribute", Py_BuildValue("(i)", (int)a));
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  memset(p, 0, sizeof *p);
  auto of = [](cudaDeviceAttr a) { int v; cudaDeviceGetAttribute(&v, a, 0); return v; };
  strcpy(p->name, of(cudaDevAttrComputeCapabilityMajor) == 9 ? "NVIDIA H100 80GB HBM3" : "NVIDIA A100-SXM4-80GB");
  p->major = of(cudaDevAttrComputeCapabilityMajor);
  p->minor = of(cudaDevAttrComputeCapabilityMinor);
  p->multiProcessorCount = of(cudaDevAttrMultiProcessorCount);
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->sharedMemPerBlock = 49152;
  p->sharedMemPerBlockOptin = of(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  p->sharedMemPerMultiprocessor = of(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  p->totalGlobalMem = size_t(80) << 30;
  p->totalConstMem = 65536;
  p->l2CacheSize = 40 << 20;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->concurrentKernels = p->cooperativeLaunch = p->unifiedAddressing = p->managedMemory = 1;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void*, int block, size_t shared, unsigned) {
  int by_threads = block > 0 ? 2048 / block : 0, by_shared = shared ? int(163840 / shared) : 32;
  *n = by_threads < by_shared ? by_threads : by_shared;
  if (*n > 32) *n = 32;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void* f, int block, size_t shared) { return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, f, block, shared, 0); }

// Products by a library: which one is written down, and what it computes is not.
struct cublasContext;
typedef int Status;
Status cublasCreate_v2(void** h) { *h = &handle; return 0; }
Status cublasDestroy_v2(void*) { return 0; }
Status cublasSetStream_v2(void*, void*) { return 0; }
Status cublasSetMathMode(void*, int) { return 0; }
Status cublasSetPointerMode_v2(void*, int) { return 0; }
Status volta_library(const char* name, ...) { event("library", Py_BuildValue("(s)", name)); return 0; }
}
