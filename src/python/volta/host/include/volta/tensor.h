// The tensor: a handle of a Python object.
#pragma once
namespace at {
struct TensorImpl {
  PyObject* object;
  explicit TensorImpl(PyObject* o) : object(o) {}
  ~TensorImpl() { Py_XDECREF(object); }
  TensorImpl(const TensorImpl&) = delete;
};

// torch's older face of a tensor's type.
struct DeprecatedTypeProperties {
  ScalarType s;
  bool gpu;
  operator ScalarType() const { return s; }
  ScalarType scalarType() const { return s; }
  bool is_cuda() const { return gpu; }
  std::string toString() const { return c10::toString(s); }
  bool operator==(const DeprecatedTypeProperties& o) const { return s == o.s && gpu == o.gpu; }
  bool operator!=(const DeprecatedTypeProperties& o) const { return !(*this == o); }
};
inline std::ostream& operator<<(std::ostream& o, const DeprecatedTypeProperties& t) { return o << t.s; }

class Tensor {
 public:
  std::shared_ptr<TensorImpl> impl;
  Tensor() {}
  // It takes the reference that the caller holds.
  static Tensor steal(PyObject* o) { Tensor t; if (o != Py_None) t.impl = std::make_shared<TensorImpl>(o); else Py_DECREF(o); return t; }
  PyObject* object() const;
  bool defined() const { return bool(impl); }
  void reset() { impl.reset(); }
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  int64_t dim() const { return sizes().size(); }
  int64_t ndimension() const { return dim(); }
  int64_t size(int64_t i) const { auto s = sizes(); return s[maybe_wrap_dim(i, s.size())]; }
  int64_t stride(int64_t i) const { auto s = strides(); return s[maybe_wrap_dim(i, s.size())]; }
  int64_t sym_size(int64_t i) const { return size(i); }
  int64_t numel() const { int64_t n = 1; for (auto v : sizes()) n *= v; return n; }
  size_t element_size() const { return elementSize(scalar_type()); }
  size_t itemsize() const { return element_size(); }
  size_t nbytes() const { return numel() * element_size(); }
  int64_t storage_offset() const;
  bool is_cuda() const;
  bool is_cpu() const { return !is_cuda(); }
  bool is_sparse() const { return false; }
  bool is_pinned() const { return false; }
  bool is_contiguous(MemoryFormat m = MemoryFormat::Contiguous) const;
  bool is_non_overlapping_and_dense() const;
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_same(const Tensor& t) const { return impl == t.impl || (impl && t.impl && impl->object == t.impl->object); }
  bool requires_grad() const { return false; }
  const Tensor& requires_grad_(bool = true) const { return *this; }
  Device device() const { return Device(is_cuda() ? kCUDA : kCPU); }
  DeviceIndex get_device() const { return device().index(); }
  Layout layout() const { return kStrided; }
  ScalarType scalar_type() const;
  TypeMeta dtype() const { return {scalar_type()}; }
  DeprecatedTypeProperties type() const { return {scalar_type(), is_cuda()}; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  MemoryFormat suggest_memory_format(bool = false) const;
  std::string toString() const { return c10::toString(scalar_type()); }
  void* raw_pointer(const ScalarType* wanted) const;
  void* data_ptr() const { return raw_pointer(nullptr); }
  template <class T> T* data_ptr() const {
    if constexpr (std::is_void<T>::value) return data_ptr();
    else { ScalarType s = element<std::remove_const_t<T>>(); return static_cast<T*>(raw_pointer(&s)); }
  }
  template <class T> static constexpr ScalarType element() {
    if constexpr (sizeof(T) == 8 && std::is_integral<T>::value) return ScalarType::Long;
    else if constexpr (sizeof(T) == 4 && std::is_integral<T>::value) return ScalarType::Int;
    else return CppTypeToScalarType<T>::value;
  }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const { return data_ptr(); }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T> const T* const_data_ptr() const { return data_ptr<T>(); }
  template <class T> T* data() const { return data_ptr<T>(); }
  Scalar item() const;
  template <class T> T item() const { return item().template to<T>(); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor to(const TensorOptions& o, bool non_blocking = false, bool copy = false, std::optional<MemoryFormat> m = std::nullopt) const;
  Tensor to(Device d, bool non_blocking = false, bool copy = false) const { return to(TensorOptions(d), non_blocking, copy); }
  Tensor to(DeviceType d, bool non_blocking = false, bool copy = false) const { return to(TensorOptions(d), non_blocking, copy); }
  Tensor to(ScalarType s, bool non_blocking = false, bool copy = false) const { return to(TensorOptions(s), non_blocking, copy); }
  Tensor to(TypeMeta s) const { return to(TensorOptions(s.s)); }
  Tensor to(Device d, ScalarType s, bool non_blocking = false, bool copy = false) const { return to(TensorOptions(s).device(d), non_blocking, copy); }
  Tensor to(const Tensor& o) const { return to(o.options()); }
  Tensor toType(ScalarType s) const { return to(s); }
  Tensor contiguous(MemoryFormat m = MemoryFormat::Contiguous) const;
  Tensor data() const { return detach(); }
  Tensor variable_data() const { return detach(); }
  Tensor operator[](int64_t i) const { return select(0, i); }
  Tensor operator-() const { return neg(); }
  Tensor& operator+=(const Tensor& o) { add_(o); return *this; }
  Tensor& operator-=(const Tensor& o) { sub_(o); return *this; }
  Tensor& operator*=(const Tensor& o) { mul_(o); return *this; }
  Tensor& operator/=(const Tensor& o) { div_(o); return *this; }
  Tensor& operator+=(const Scalar& o) { add_(o); return *this; }
  Tensor& operator-=(const Scalar& o) { sub_(o); return *this; }
  Tensor& operator*=(const Scalar& o) { mul_(o); return *this; }
  Tensor& operator/=(const Scalar& o) { div_(o); return *this; }
  template <class T, size_t N> TensorAccessor<T, N> accessor() const;
  template <class T, size_t N, template <class> class P = DefaultPtrTraits> GenericPackedTensorAccessor<T, N, P, int32_t> packed_accessor32() const;
  template <class T, size_t N, template <class> class P = DefaultPtrTraits> GenericPackedTensorAccessor<T, N, P, int64_t> packed_accessor64() const;
  template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t> GenericPackedTensorAccessor<T, N, P, I> packed_accessor() const;
#include <volta/methods.inc>
};
inline std::ostream& operator<<(std::ostream& o, const Tensor& t) { return o << "Tensor" << t.sizes(); }
}  // namespace at

namespace volta_host {
template <> struct From<Tensor> { static Tensor of(PyObject*); };
template <> struct From<bool> { static bool of(PyObject*); };
template <> struct From<std::string> { static std::string of(PyObject*); };
template <> struct From<at::ScalarType> { static at::ScalarType of(PyObject*); };
template <> struct From<at::Device> { static at::Device of(PyObject*); };
template <> struct From<at::Scalar> { static at::Scalar of(PyObject*); };
int64_t integer(PyObject*);
double real(PyObject*);
std::vector<PyObject*> items(PyObject*);
template <class T> struct From<T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>> {
  static T of(PyObject* o) {
    int64_t v = integer(o);
    if (sizeof(T) < 8 && (v < int64_t(std::numeric_limits<T>::min()) || v > int64_t(std::numeric_limits<T>::max()))) mismatch("int");
    return T(v);
  }
};
template <class T> struct From<T, std::enable_if_t<std::is_floating_point<T>::value>> { static T of(PyObject* o) { return T(real(o)); } };
template <class T> struct From<std::vector<T>> {
  static std::vector<T> of(PyObject* o) {
    std::vector<T> out;
    for (PyObject* e : items(o)) out.push_back(From<T>::of(e));
    return out;
  }
};
template <class T> struct From<at::ArrayRef<T>> { static at::ArrayRef<T> of(PyObject* o) { return From<std::vector<T>>::of(o); } };
template <class T, size_t N> struct From<std::array<T, N>> {
  static std::array<T, N> of(PyObject* o) {
    auto v = From<std::vector<T>>::of(o);
    if (v.size() != N) mismatch("sequence of another length");
    std::array<T, N> out;
    std::copy(v.begin(), v.end(), out.begin());
    return out;
  }
};
template <class T> struct From<std::optional<T>> {
  static std::optional<T> of(PyObject* o) { return o == Py_None ? std::optional<T>() : std::optional<T>(From<T>::of(o)); }
};
template <class T> struct From<at::OptionalArrayRef<T>> {
  static at::OptionalArrayRef<T> of(PyObject* o) { return From<std::optional<at::ArrayRef<T>>>::of(o); }
};
template <class A, class B> struct From<std::pair<A, B>> {
  static std::pair<A, B> of(PyObject* o) { auto v = items(o); if (v.size() != 2) mismatch("pair"); return {From<A>::of(v[0]), From<B>::of(v[1])}; }
};
template <class... A> struct From<std::tuple<A...>> {
  template <size_t... I> static std::tuple<A...> each(const std::vector<PyObject*>& v, std::index_sequence<I...>) { return {From<A>::of(v[I])...}; }
  static std::tuple<A...> of(PyObject* o) { auto v = items(o); if (v.size() != sizeof...(A)) mismatch("tuple"); return each(v, std::index_sequence_for<A...>{}); }
};
}  // namespace volta_host

namespace at {
#include <volta/functions.inc>
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor tensor_of(volta_host::Ref values, const TensorOptions& options);
template <class T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0> Tensor tensor(T v, const TensorOptions& o = {}) { return tensor_of(volta_host::box(v), o.has_dtype() ? o : o.dtype(CppTypeToScalarType<T>::value)); }
template <class T> Tensor tensor(ArrayRef<T> v, const TensorOptions& o = {}) { return tensor_of(volta_host::box(v), o.has_dtype() ? o : o.dtype(CppTypeToScalarType<T>::value)); }
template <class T> Tensor tensor(const std::vector<T>& v, const TensorOptions& o = {}) { return tensor(ArrayRef<T>(v), o); }
template <class T> Tensor tensor(std::initializer_list<T> v, const TensorOptions& o = {}) { return tensor(ArrayRef<T>(v), o); }
inline std::optional<Device> device_of(const Tensor& t) { return t.defined() ? std::optional<Device>(t.device()) : std::nullopt; }
#define VOLTA_OPERATOR(op, f) \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return a.f(b); } \
  inline Tensor operator op(const Tensor& a, const Scalar& b) { return a.f(b); }
VOLTA_OPERATOR(+, add) VOLTA_OPERATOR(-, sub) VOLTA_OPERATOR(*, mul) VOLTA_OPERATOR(/, div)
VOLTA_OPERATOR(<, lt) VOLTA_OPERATOR(<=, le) VOLTA_OPERATOR(>, gt) VOLTA_OPERATOR(>=, ge) VOLTA_OPERATOR(==, eq) VOLTA_OPERATOR(!=, ne)
#undef VOLTA_OPERATOR
inline Tensor operator+(const Scalar& a, const Tensor& b) { return b.add(a); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return b.mul(a); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return b.neg().add(a); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return b.reciprocal().mul(a); }
template <class A, class B> auto ceil_div(A a, B b) { return (a + b - 1) / b; }
template <class T> T ceil_mul(T a, T b) { return ceil_div(a, b) * b; }

}  // namespace at
struct cublasContext;
namespace at {
namespace cuda {
struct CUDAStream {
  cudaStream_t handle = nullptr;
  operator cudaStream_t() const { return handle; }
  cudaStream_t stream() const { return handle; }
  void synchronize() const {}
  int64_t id() const { return 0; }
  DeviceIndex device_index() const { return 0; }
};
inline CUDAStream getCurrentCUDAStream(int = -1) { return {}; }
inline CUDAStream getDefaultCUDAStream(int = -1) { return {}; }
CUDAStream getStreamFromPool(bool = false, int = -1);
cudaDeviceProp* getCurrentDeviceProperties();
cudaDeviceProp* getDeviceProperties(int64_t = 0);
cublasContext* getCurrentCUDABlasHandle();
inline int warp_size() { return 32; }
inline int device_count() { return 1; }
inline int current_device() { return 0; }
inline bool is_available() { return true; }
inline void set_device(int) {}
struct CUDAGuard { template <class T> explicit CUDAGuard(const T&) {} template <class T> void set_index(T) {} template <class T> void set_device(T) {} };
struct OptionalCUDAGuard { OptionalCUDAGuard() {} template <class T> explicit OptionalCUDAGuard(const T&) {} template <class T> void set_device(T) {} };
struct CUDAStreamGuard { template <class T> explicit CUDAStreamGuard(const T&) {} };
struct CUDAMultiStreamGuard { template <class T> explicit CUDAMultiStreamGuard(const T&) {} };
}  // namespace cuda
struct DeviceGuard { template <class T> explicit DeviceGuard(const T&) {} };
struct OptionalDeviceGuard { OptionalDeviceGuard() {} template <class T> explicit OptionalDeviceGuard(const T&) {} };
struct NoGradGuard { NoGradGuard() {} };
struct AutoGradMode { explicit AutoGradMode(bool) {} };
namespace native { using at::ceil_div; }
}  // namespace at

namespace c10 {
using at::Tensor;
using at::device_of;
using at::DeviceGuard;
using at::OptionalDeviceGuard;
namespace cuda { using namespace at::cuda; }
}  // namespace c10
namespace torch {
using namespace at;
using at::Tensor;
using at::TensorOptions;
using Dtype = at::ScalarType;
constexpr auto kUInt8 = at::kByte;
namespace cuda { using namespace at::cuda; inline void synchronize(int64_t = -1) {} }
namespace autograd { using variable_list = std::vector<at::Tensor>; using Variable = at::Tensor; }
namespace indexing {}
namespace nn { namespace functional {} }
template <class F> F wrap_pybind_function(F f) { return f; }
}  // namespace torch
