// A stand-in of torch's C++ interface for host code of CUDA extensions.
//
// A tensor is a handle of a Python object; each method and function asks the interpreter that records. Nothing of libtorch is
// included or linked, so that a candidate compiles in about a second. Methods and functions are declared by
// `volta/methods.inc` and `volta/functions.inc`, which are generated from torch's list of operators and defined in an object of
// their own. What is missing here is a gap of the stand-in and is reported as such, never as a mistake of the candidate.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>
#include <volta/scalars.h>

namespace c10 {
enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
enum class Layout : int8_t { Strided, Sparse };
constexpr auto kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
constexpr auto kStrided = Layout::Strided, kSparse = Layout::Sparse;
using DeviceIndex = int8_t;
using std::optional;
using std::nullopt;
using std::nullopt_t;
using std::make_optional;
using string_view = std::string_view;

template <class... S> std::string str(const S&... s) {
  std::ostringstream out;
  ((out << s), ...);
  return out.str();
}

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  std::string msg() const { return what(); }
  const char* what_without_backtrace() const { return what(); }
};

struct Device {
  DeviceType kind = DeviceType::CUDA;
  DeviceIndex at = 0;
  Device(DeviceType kind = DeviceType::CUDA, DeviceIndex at = 0) : kind(kind), at(at) {}
  Device(const std::string& text) : kind(text.rfind("cuda", 0) == 0 ? DeviceType::CUDA : DeviceType::CPU) {}
  Device(const char* text) : Device(std::string(text)) {}
  bool is_cuda() const { return kind == DeviceType::CUDA; }
  bool is_cpu() const { return !is_cuda(); }
  bool has_index() const { return is_cuda(); }
  DeviceType type() const { return kind; }
  DeviceIndex index() const { return is_cuda() ? at : -1; }
  std::string str() const { return is_cuda() ? "cuda:0" : "cpu"; }
  bool operator==(const Device& o) const { return kind == o.kind; }
  bool operator!=(const Device& o) const { return kind != o.kind; }
};
inline std::ostream& operator<<(std::ostream& o, const Device& d) { return o << d.str(); }
inline std::ostream& operator<<(std::ostream& o, DeviceType d) { return o << Device(d).str(); }
const char* toString(ScalarType);
size_t elementSize(ScalarType);
inline std::ostream& operator<<(std::ostream& o, ScalarType s) { return o << toString(s); }
inline bool isFloatingType(ScalarType s) {
  return s == ScalarType::Half || s == ScalarType::Float || s == ScalarType::Double || s == ScalarType::BFloat16;
}
inline bool isIntegralType(ScalarType s, bool with_bool = false) {
  return (int8_t(s) >= 0 && int8_t(s) <= 4) || (with_bool && s == ScalarType::Bool);
}

// It owns its elements, so that one made from a braced list stays valid.
template <class T> struct ArrayRef {
  std::vector<T> v;
  ArrayRef() {}
  ArrayRef(std::initializer_list<T> l) : v(l) {}
  template <class U, std::enable_if_t<std::is_convertible<U, T>::value && !std::is_same<U, T>::value, int> = 0>
  ArrayRef(const std::vector<U>& l) : v(l.begin(), l.end()) {}
  ArrayRef(const std::vector<T>& l) : v(l) {}
  template <size_t N> ArrayRef(const std::array<T, N>& l) : v(l.begin(), l.end()) {}
  template <size_t N> ArrayRef(const T (&l)[N]) : v(l, l + N) {}
  ArrayRef(const T& one) : v{one} {}
  ArrayRef(const T* p, size_t n) : v(p, p + n) {}
  ArrayRef(const T* p, const T* q) : v(p, q) {}
  const std::vector<T>& vec() const { return v; }
  size_t size() const { return v.size(); }
  bool empty() const { return v.empty(); }
  const T* data() const { return v.data(); }
  auto begin() const { return v.begin(); }
  auto end() const { return v.end(); }
  const T& front() const { return v.front(); }
  const T& back() const { return v.back(); }
  const T& at(size_t i) const { return v.at(i); }
  const T& operator[](size_t i) const { return v[i]; }
  ArrayRef slice(size_t n, size_t m) const { return ArrayRef(v.data() + n, m); }
  ArrayRef slice(size_t n) const { return slice(n, size() - n); }
  bool equals(const ArrayRef& o) const { return v == o.v; }
  bool operator==(const ArrayRef& o) const { return v == o.v; }
  bool operator!=(const ArrayRef& o) const { return v != o.v; }
  operator const std::vector<T>&() const { return v; }
};
template <class T> std::ostream& operator<<(std::ostream& o, const ArrayRef<T>& l) {
  o << "[";
  for (size_t i = 0; i < l.size(); ++i) o << (i ? ", " : "") << l[i];
  return o << "]";
}
using IntArrayRef = ArrayRef<int64_t>;
using SymInt = int64_t;
using SymIntArrayRef = IntArrayRef;

template <class T> struct OptionalArrayRef {
  std::optional<ArrayRef<T>> v;
  OptionalArrayRef() {}
  OptionalArrayRef(std::nullopt_t) {}
  OptionalArrayRef(const ArrayRef<T>& l) : v(l) {}
  OptionalArrayRef(const std::optional<ArrayRef<T>>& l) : v(l) {}
  OptionalArrayRef(const std::vector<T>& l) : v(l) {}
  OptionalArrayRef(std::initializer_list<T> l) : v(ArrayRef<T>(l)) {}
  template <class U, std::enable_if_t<std::is_integral<U>::value, int> = 0> OptionalArrayRef(U one) : v(ArrayRef<T>(T(one))) {}
  bool has_value() const { return v.has_value(); }
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

struct Scalar {
  enum { Int, Float, Boolean } tag = Int;
  int64_t i = 0;
  double d = 0;
  Scalar() {}
  template <class T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, int> = 0> Scalar(T v) : i(v), d(double(v)) {}
  template <class T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0> Scalar(T v) : tag(Float), i(int64_t(v)), d(v) {}
  Scalar(bool v) : tag(Boolean), i(v), d(v) {}
  Scalar(Half v) : Scalar(float(v)) {}
  Scalar(BFloat16 v) : Scalar(float(v)) {}
  template <class T> T to() const { return tag == Float ? T(d) : T(i); }
  double toDouble() const { return d; }
  float toFloat() const { return float(d); }
  int64_t toLong() const { return i; }
  int toInt() const { return int(i); }
  bool toBool() const { return i != 0; }
  bool isFloatingPoint() const { return tag == Float; }
  bool isIntegral(bool with_bool = false) const { return tag == Int || (with_bool && tag == Boolean); }
};

struct TensorOptions {
  std::optional<ScalarType> type_;
  std::optional<Device> device_;
  std::optional<Layout> layout_;
  std::optional<bool> pinned_;
  std::optional<MemoryFormat> format_;
  TensorOptions() {}
  TensorOptions(ScalarType s) : type_(s) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions(DeviceType d) : device_(Device(d)) {}
  TensorOptions(Layout l) : layout_(l) {}
  TensorOptions(MemoryFormat m) : format_(m) {}
  TensorOptions dtype(std::optional<ScalarType> s) const { auto r = *this; if (s) r.type_ = s; return r; }
  TensorOptions device(std::optional<Device> d) const { auto r = *this; if (d) r.device_ = d; return r; }
  TensorOptions device(DeviceType d, int = 0) const { return device(Device(d)); }
  TensorOptions device(const char* d) const { return device(Device(d)); }
  TensorOptions device_index(int) const { return device(kCUDA); }
  TensorOptions requires_grad(std::optional<bool> = true) const { return *this; }
  TensorOptions layout(std::optional<Layout>) const { return *this; }
  TensorOptions pinned_memory(std::optional<bool> b) const { auto r = *this; r.pinned_ = b; return r; }
  TensorOptions memory_format(std::optional<MemoryFormat> m) const { auto r = *this; r.format_ = m; return r; }
  ScalarType dtype() const { return type_.value_or(ScalarType::Float); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  Layout layout() const { return kStrided; }
  bool has_dtype() const { return type_.has_value(); }
  bool has_device() const { return device_.has_value(); }
};
inline TensorOptions dtype(ScalarType s) { return TensorOptions(s); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device(DeviceType d) { return TensorOptions(d); }
inline TensorOptions requires_grad(bool = true) { return TensorOptions(); }
inline TensorOptions memory_format(MemoryFormat m) { return TensorOptions(m); }
inline int64_t maybe_wrap_dim(int64_t d, int64_t n, bool = true) {
  if (d < -std::max<int64_t>(n, 1) || d >= std::max<int64_t>(n, 1)) throw Error(str("Dimension out of range (got ", d, ")"));
  return d < 0 ? d + n : d;
}
template <class A, class B> auto divup(A a, B b) { return (a + b - 1) / b; }
struct Generator {};
}  // namespace c10

namespace caffe2 {
// The type of a tensor's elements as torch's older interface has it.
struct TypeMeta {
  c10::ScalarType s;
  operator c10::ScalarType() const { return s; }
  c10::ScalarType toScalarType() const { return s; }
  size_t itemsize() const { return c10::elementSize(s); }
  std::string name() const { return c10::toString(s); }
  template <class T> static TypeMeta Make() { return {c10::CppTypeToScalarType<T>::value}; }
  bool operator==(c10::ScalarType o) const { return s == o; }
  bool operator!=(c10::ScalarType o) const { return s != o; }
  bool operator==(TypeMeta o) const { return s == o.s; }
  bool operator!=(TypeMeta o) const { return s != o.s; }
};
inline std::ostream& operator<<(std::ostream& o, TypeMeta t) { return o << t.s; }
}  // namespace caffe2

namespace at {
using namespace c10;
using caffe2::TypeMeta;
class Tensor;
using TensorList = ArrayRef<Tensor>;
using ITensorListRef = TensorList;
template <class T, size_t N> struct TensorAccessor;
template <class T, size_t N, template <class> class P, class I> struct GenericPackedTensorAccessor;
template <class T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };
template <class T> struct DefaultPtrTraits { typedef T* PtrType; };
template <class T, size_t N, template <class> class P = DefaultPtrTraits> using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, P, int32_t>;
template <class T, size_t N, template <class> class P = DefaultPtrTraits> using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, P, int64_t>;
}  // namespace at

namespace volta_host {
using at::Tensor;
// A Python exception is set.
struct Raised {};

struct Ref {
  PyObject* o;
  explicit Ref(PyObject* o) : o(o) {}
  Ref(Ref&& r) noexcept : o(r.o) { r.o = nullptr; }
  Ref(const Ref& r) : o(r.o) { Py_XINCREF(o); }
  ~Ref() { Py_XDECREF(o); }
  PyObject* release() { PyObject* r = o; o = nullptr; return r; }
};
Ref check(PyObject*);

Ref box(const Tensor&);
Ref box(bool);
Ref box(int64_t);
Ref box(double);
Ref box(const std::string&);
inline Ref box(int v) { return box(int64_t(v)); }
inline Ref box(unsigned v) { return box(int64_t(v)); }
inline Ref box(long long v) { return box(int64_t(v)); }
inline Ref box(unsigned long v) { return box(int64_t(v)); }
inline Ref box(float v) { return box(double(v)); }
inline Ref box(const char* s) { return box(std::string(s)); }
inline Ref box(std::string_view s) { return box(std::string(s)); }
Ref box(std::nullopt_t);
Ref box(at::ScalarType);
Ref box(at::Device);
Ref box(at::MemoryFormat);
Ref box(at::Layout);
Ref box(const at::Scalar&);
Ref box(const at::Generator&);
inline Ref box(caffe2::TypeMeta t) { return box(t.s); }
Ref list(std::vector<Ref>);
Ref tuple(std::vector<Ref>);
template <class T> Ref box(const std::optional<T>& v);
template <class T> Ref box(const at::ArrayRef<T>& v);
template <class T> Ref box(const std::vector<T>& v) {
  std::vector<Ref> items;
  for (const auto& e : v) items.push_back(box(static_cast<const T&>(e)));
  return list(std::move(items));
}
template <class T> Ref box(const at::ArrayRef<T>& v) { return box(v.v); }
template <class T, size_t N> Ref box(const std::array<T, N>& v) { return box(std::vector<T>(v.begin(), v.end())); }
template <class T> Ref box(const std::optional<T>& v) { return v ? box(*v) : box(std::nullopt); }
template <class T> Ref box(const at::OptionalArrayRef<T>& v) { return box(v.v); }
template <class... A> Ref box(const std::tuple<A...>& t) {
  return std::apply([](const auto&... a) { return tuple({box(a)...}); }, t);
}
template <class A, class B> Ref box(const std::pair<A, B>& t) { return tuple({box(t.first), box(t.second)}); }
template <class K, class V> Ref box(const std::map<K, V>& m) {
  Ref d = check(PyDict_New());
  for (const auto& [k, v] : m) PyDict_SetItem(d.o, box(k).o, box(v).o);
  return d;
}
template <class K, class V> Ref box(const std::unordered_map<K, V>& m) { return box(std::map<K, V>(m.begin(), m.end())); }

// Calls a function of the Python module that records.
Ref call(const char* function, std::vector<Ref> arguments);
// Calls an operator of torch by its name and overload.
Ref op(const char* name, const char* overload, std::vector<Ref> arguments);
[[noreturn]] void mismatch(const char* wanted);
template <class T, class = void> struct From;
template <class T> T from(const Ref& r) { return From<T>::of(r.o); }
}  // namespace volta_host

#include <volta/tensor.h>
#include <volta/accessor.h>
#include <volta/module.h>
#include <volta/macros.h>
