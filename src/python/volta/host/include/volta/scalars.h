// Element types: names, and the two narrow floats as torch has them on both sides.
#pragma once
#include <cstdint>
#define VOLTA_BOTH __host__ __device__

namespace c10 {
enum class ScalarType : int8_t { Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7, ComplexFloat = 9, ComplexDouble = 10, Bool = 11, BFloat16 = 15, Float8_e5m2 = 23, Float8_e4m3fn = 24, Undefined = 45 };
}
namespace volta_host {
float half_to_float(unsigned short);
unsigned short float_to_half(float);
}
namespace c10 {
struct alignas(2) Half {
  unsigned short x;
  Half() = default;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  VOLTA_BOTH constexpr Half(unsigned short bits, from_bits_t) : x(bits) {}
  VOLTA_BOTH Half(float f) {
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(f));
#else
    x = volta_host::float_to_half(f);
#endif
  }
  VOLTA_BOTH operator float() const {
#ifdef __CUDA_ARCH__
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
#else
    return volta_host::half_to_float(x);
#endif
  }
#ifdef __CUDA_FP16_TYPES_EXIST__
  VOLTA_BOTH Half(const __half& h) : x(*reinterpret_cast<const unsigned short*>(&h)) {}
  VOLTA_BOTH operator __half() const { return *reinterpret_cast<const __half*>(&x); }
#endif
};
struct alignas(2) BFloat16 {
  unsigned short x;
  BFloat16() = default;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  VOLTA_BOTH constexpr BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  VOLTA_BOTH BFloat16(float f) {
#ifdef __CUDA_ARCH__
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x) : "f"(f));
#else
    union { float f; uint32_t u; } v{f};
    x = f != f ? 0x7fff : (unsigned short)((v.u + 0x7fffu + ((v.u >> 16) & 1)) >> 16);
#endif
  }
  VOLTA_BOTH operator float() const {
    union { uint32_t u; float f; } v{uint32_t(x) << 16};
    return v.f;
  }
#ifdef __CUDA_BF16_TYPES_EXIST__
  VOLTA_BOTH BFloat16(const __nv_bfloat16& h) : x(*reinterpret_cast<const unsigned short*>(&h)) {}
  VOLTA_BOTH operator __nv_bfloat16() const { return *reinterpret_cast<const __nv_bfloat16*>(&x); }
#endif
};
// Each operation is that of f32, rounded once, as torch has it.
#define VOLTA_ARITHMETIC(T, op) \
  VOLTA_BOTH inline T operator op(T a, T b) { return T(float(a) op float(b)); } \
  VOLTA_BOTH inline float operator op(T a, float b) { return float(a) op b; } \
  VOLTA_BOTH inline float operator op(float a, T b) { return a op float(b); } \
  VOLTA_BOTH inline double operator op(T a, double b) { return double(float(a)) op b; } \
  VOLTA_BOTH inline double operator op(double a, T b) { return a op double(float(b)); } \
  VOLTA_BOTH inline T operator op(T a, int b) { return T(float(a) op float(b)); } \
  VOLTA_BOTH inline T operator op(int a, T b) { return T(float(a) op float(b)); } \
  VOLTA_BOTH inline T& operator op##=(T& a, T b) { return a = T(float(a) op float(b)); }
#define VOLTA_NARROW(T) VOLTA_ARITHMETIC(T, +) VOLTA_ARITHMETIC(T, -) VOLTA_ARITHMETIC(T, *) VOLTA_ARITHMETIC(T, /) \
  VOLTA_BOTH inline T operator-(T a) { return T(-float(a)); }
VOLTA_NARROW(Half)
VOLTA_NARROW(BFloat16)
#undef VOLTA_NARROW
#undef VOLTA_ARITHMETIC

constexpr auto kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char;
constexpr auto kShort = ScalarType::Short, kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int;
constexpr auto kLong = ScalarType::Long, kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half, kF16 = ScalarType::Half;
constexpr auto kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kF32 = ScalarType::Float, kDouble = ScalarType::Double;
constexpr auto kFloat64 = ScalarType::Double, kF64 = ScalarType::Double, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
constexpr auto kI32 = ScalarType::Int, kI64 = ScalarType::Long, kU8 = ScalarType::Byte;

template <class T> struct CppTypeToScalarType;
template <ScalarType S> struct ScalarTypeToCPPType;
#define VOLTA_TYPES(_) _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long) _(Half, Half) _(float, Float) _(double, Double) _(bool, Bool) _(BFloat16, BFloat16)
#define VOLTA_ROW(T, S) \
  template <> struct CppTypeToScalarType<T> { static constexpr ScalarType value = ScalarType::S; constexpr operator ScalarType() const { return value; } }; \
  template <> struct ScalarTypeToCPPType<ScalarType::S> { using type = T; };
VOLTA_TYPES(VOLTA_ROW)
#undef VOLTA_ROW
}  // namespace c10
