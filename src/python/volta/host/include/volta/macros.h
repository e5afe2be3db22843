// torch's macros: checks, and dispatch over element types.
#pragma once
#define TORCH_CHECK(condition, ...) do { if (!(condition)) throw ::c10::Error(::c10::str(__VA_OPT__(__VA_ARGS__,) "  (" #condition ")")); } while (0)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_ERROR(...) throw ::c10::Error(::c10::str(__VA_ARGS__))
#define TORCH_WARN(...) do {} while (0)
#define TORCH_WARN_ONCE(...) do {} while (0)
#define AT_WARN(...) do {} while (0)
#define TORCH_API
#define C10_API
#define C10_EXPORT
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_LIKELY(e) (e)
#define C10_UNLIKELY(e) (e)
#define C10_RESTRICT __restrict__
#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_1(a) __launch_bounds__(a)
#define C10_LAUNCH_BOUNDS_2(a, b) __launch_bounds__(a, b)
#define C10_CUDA_CHECK(expression) do { cudaError_t volta_error = (expression); TORCH_CHECK(volta_error == cudaSuccess, "CUDA error: ", cudaGetErrorString(volta_error)); } while (0)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define C10_CUDA_CHECK_WARN(expression) (void)(expression)
#define CUDA_KERNEL_LOOP_TYPE(i, n, type) for (type i = type(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); i += type(blockDim.x) * gridDim.x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int64_t)

#define AT_PRIVATE_CASE_TYPE_USING_HINT(S, hint, ...) case S: { using hint [[maybe_unused]] = typename ::c10::ScalarTypeToCPPType<S>::type; return __VA_ARGS__(); }
#define AT_DISPATCH_CASE(S, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(S, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...) [&] { \
    ::c10::ScalarType volta_type = (TYPE); \
    switch (volta_type) { __VA_ARGS__ default: throw ::c10::Error(::c10::str(NAME, " not implemented for '", ::c10::toString(volta_type), "'")); } }()
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) AT_DISPATCH_CASE(::c10::ScalarType::Double, __VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) AT_DISPATCH_CASE(::c10::ScalarType::Byte, __VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Char, __VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Int, __VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Long, __VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::BFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Int, index_t, __VA_ARGS__) AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Long, index_t, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
