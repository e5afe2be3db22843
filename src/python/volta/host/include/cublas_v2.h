// Products by a library: that one was asked for is written down, so that it counts as the library's work.
#pragma once
#include <cuda_runtime.h>
typedef struct cublasContext* cublasHandle_t;
typedef enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_ALLOC_FAILED = 3, CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR = 14 } cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3 } cublasMath_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99, CUBLAS_GEMM_ALGO0 = 0 } cublasGemmAlgo_t;
typedef enum { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_TF32 = 77, CUBLAS_COMPUTE_64F = 70 } cublasComputeType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t*);
cublasStatus_t cublasDestroy_v2(cublasHandle_t);
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t);
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t, cublasPointerMode_t);
// One symbol takes any arguments: nothing is computed.
cublasStatus_t volta_library(const char*, ...);
}
#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define VOLTA_LIBRARY(name) template <class... A> cublasStatus_t name(cublasHandle_t, const A&...) { return volta_library(#name); }
VOLTA_LIBRARY(cublasSgemm) VOLTA_LIBRARY(cublasDgemm) VOLTA_LIBRARY(cublasHgemm) VOLTA_LIBRARY(cublasGemmEx) VOLTA_LIBRARY(cublasSgemmEx)
VOLTA_LIBRARY(cublasSgemmStridedBatched) VOLTA_LIBRARY(cublasDgemmStridedBatched) VOLTA_LIBRARY(cublasHgemmStridedBatched)
VOLTA_LIBRARY(cublasGemmStridedBatchedEx) VOLTA_LIBRARY(cublasSgemmBatched) VOLTA_LIBRARY(cublasGemmBatchedEx) VOLTA_LIBRARY(cublasSgemv)
VOLTA_LIBRARY(cublasDgemv) VOLTA_LIBRARY(cublasSgemvStridedBatched) VOLTA_LIBRARY(cublasSdot) VOLTA_LIBRARY(cublasSnrm2) VOLTA_LIBRARY(cublasSasum)
VOLTA_LIBRARY(cublasSaxpy) VOLTA_LIBRARY(cublasSscal) VOLTA_LIBRARY(cublasSger) VOLTA_LIBRARY(cublasStrmm) VOLTA_LIBRARY(cublasSsymm)
VOLTA_LIBRARY(cublasSsyrk) VOLTA_LIBRARY(cublasSdgmm) VOLTA_LIBRARY(cublasSgeam) VOLTA_LIBRARY(cublasIsamax) VOLTA_LIBRARY(cublasIsamin)
#undef VOLTA_LIBRARY
inline const char* cublasGetStatusString(cublasStatus_t s) { return s == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_INTERNAL_ERROR"; }
inline const char* cublasGetStatusName(cublasStatus_t s) { return cublasGetStatusString(s); }
#ifndef CUDA_R_32F
#include <library_types.h>
#endif
