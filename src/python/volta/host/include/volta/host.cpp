// What the stand-in's header declares by hand: conversions between C++ and Python, and calls of the module that records.
#include <volta/host.h>

namespace c10 {
const char* toString(ScalarType s) {
  static const char* names[] = {"Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble", "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16"};
  int i = int(s);
  return i >= 0 && i < 16 ? names[i] : "Undefined";
}
size_t elementSize(ScalarType s) {
  static const int sizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2};
  int i = int(s);
  return i >= 0 && i < 16 ? sizes[i] : 1;
}
}  // namespace c10

namespace volta_host {
float half_to_float(unsigned short h) {
  unsigned sign = (h >> 15) & 1, exponent = (h >> 10) & 31, fraction = h & 1023;
  float v = exponent == 0 ? std::ldexp(float(fraction), -24)
          : exponent == 31 ? (fraction ? NAN : INFINITY)
          : std::ldexp(float(fraction + 1024), int(exponent) - 25);
  return sign ? -v : v;
}
unsigned short float_to_half(float f) {
  unsigned short sign = std::signbit(f) ? 0x8000 : 0;
  float a = std::fabs(f);
  if (std::isnan(f)) return 0x7fff;
  if (a >= 65520.0f) return sign | 0x7c00;
  if (a < std::ldexp(1.0f, -14)) return sign | (unsigned short)std::nearbyint(std::ldexp(a, 24));
  int e;
  float m = std::frexp(a, &e);
  int n = int(std::nearbyint(std::ldexp(m, 11)));
  if (n == 2048) { n = 1024; ++e; }
  return sign | (unsigned short)(((e + 14) << 10) + (n - 1024));
}

Ref check(PyObject* o) {
  if (!o) throw Raised();
  return Ref(o);
}
static PyObject* recorder() {
  static PyObject* module = check(PyImport_ImportModule("volta.host.bridge")).release();
  return module;
}
Ref tuple(std::vector<Ref> v) {
  PyObject* t = check(PyTuple_New(v.size())).release();
  for (size_t i = 0; i < v.size(); ++i) PyTuple_SET_ITEM(t, i, v[i].release());
  return Ref(t);
}
Ref list(std::vector<Ref> v) {
  PyObject* t = check(PyList_New(v.size())).release();
  for (size_t i = 0; i < v.size(); ++i) PyList_SET_ITEM(t, i, v[i].release());
  return Ref(t);
}
Ref call(const char* function, std::vector<Ref> arguments) {
  Ref f = check(PyObject_GetAttrString(recorder(), function));
  Ref a = tuple(std::move(arguments));
  return check(PyObject_CallObject(f.o, a.o));
}
Ref op(const char* name, const char* overload, std::vector<Ref> arguments) {
  return call("operator", {box(name), box(overload), tuple(std::move(arguments))});
}
static Ref share(PyObject* o) { Py_INCREF(o); return Ref(o); }
Ref box(const Tensor& t) { return share(t.impl ? t.impl->object : Py_None); }
Ref box(bool v) { return share(v ? Py_True : Py_False); }
Ref box(int64_t v) { return check(PyLong_FromLongLong(v)); }
Ref box(double v) { return check(PyFloat_FromDouble(v)); }
Ref box(const std::string& v) { return check(PyUnicode_FromStringAndSize(v.data(), v.size())); }
Ref box(std::nullopt_t) { return share(Py_None); }
Ref box(at::ScalarType s) { return call("dtype", {box(int64_t(s))}); }
Ref box(at::Device d) { return box(d.str()); }
Ref box(at::MemoryFormat m) { return call("memory_format", {box(int64_t(m))}); }
Ref box(at::Layout) { return box(std::nullopt); }
Ref box(const at::Generator&) { return box(std::nullopt); }
Ref box(const at::Scalar& s) {
  return s.tag == at::Scalar::Float ? box(s.d) : s.tag == at::Scalar::Boolean ? box(bool(s.i)) : box(s.i);
}

void mismatch(const char* wanted) {
  PyErr_Format(PyExc_TypeError, "incompatible function arguments: expected %s", wanted);
  throw Raised();
}
Tensor From<Tensor>::of(PyObject* o) {
  Ref yes = call("is_tensor", {share(o)});
  if (yes.o != Py_True) mismatch("torch.Tensor");
  Py_INCREF(o);
  return Tensor::steal(o);
}
bool From<bool>::of(PyObject* o) {
  if (!PyBool_Check(o)) mismatch("bool");
  return o == Py_True;
}
std::string From<std::string>::of(PyObject* o) {
  if (!PyUnicode_Check(o)) mismatch("str");
  const char* s = PyUnicode_AsUTF8(o);
  if (!s) throw Raised();
  return s;
}
at::ScalarType From<at::ScalarType>::of(PyObject* o) { return at::ScalarType(integer(call("scalar_type", {share(o)}).o)); }
at::Device From<at::Device>::of(PyObject* o) { return at::Device(from<std::string>(call("device_name", {share(o)}))); }
at::Scalar From<at::Scalar>::of(PyObject* o) {
  if (PyBool_Check(o)) return at::Scalar(o == Py_True);
  if (PyFloat_Check(o)) return at::Scalar(real(o));
  return at::Scalar(integer(o));
}
int64_t integer(PyObject* o) {
  if (PyFloat_Check(o)) mismatch("int");
  PyObject* index = PyNumber_Index(o);
  if (!index) throw Raised();
  long long v = PyLong_AsLongLong(index);
  Py_DECREF(index);
  if (v == -1 && PyErr_Occurred()) throw Raised();
  return v;
}
double real(PyObject* o) {
  if (!PyFloat_Check(o) && !PyLong_Check(o) && !PyNumber_Check(o)) mismatch("float");
  double v = PyFloat_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) throw Raised();
  return v;
}
std::vector<PyObject*> items(PyObject* o) {
  if (!PyList_Check(o) && !PyTuple_Check(o)) mismatch("a sequence");
  std::vector<PyObject*> out;
  for (Py_ssize_t i = 0; i < PySequence_Size(o); ++i) out.push_back(PyList_Check(o) ? PyList_GET_ITEM(o, i) : PyTuple_GET_ITEM(o, i));
  return out;
}

static PyObject* entry(PyObject* self, PyObject* given, PyObject* named) {
  auto* f = static_cast<Function*>(PyCapsule_GetPointer(self, "volta.host"));
  try {
    std::vector<PyObject*> values;
    for (Py_ssize_t i = 0; i < PyTuple_Size(given); ++i) values.push_back(PyTuple_GET_ITEM(given, i));
    for (size_t i = values.size(); i < f->count; ++i) {
      PyObject* v = nullptr;
      if (i < f->arguments.size()) {
        if (named) v = PyDict_GetItemString(named, f->arguments[i].name.c_str());
        if (!v) v = f->arguments[i].fallback;
      }
      if (!v) mismatch("more arguments");
      values.push_back(v);
    }
    if (values.size() != f->count) mismatch("fewer arguments");
    return f->run(values).release();
  } catch (Raised&) {
    return nullptr;
  } catch (std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
    return nullptr;
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "the host code threw what is no exception of the standard library");
    return nullptr;
  }
}
void define(PyObject* module, Function* f) {
  auto* d = new PyMethodDef{f->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(entry)), METH_VARARGS | METH_KEYWORDS, ""};
  PyObject* self = PyCapsule_New(f, "volta.host", nullptr);
  PyModule_AddObject(module, f->name.c_str(), PyCFunction_New(d, self));
}
PyObject* make_module(const char* name, PyModuleDef* definition, void (*fill)(Module&)) {
  definition->m_name = name;
  PyObject* o = PyModule_Create(definition);
  if (!o) return nullptr;
  Module m{o};
  try {
    fill(m);
  } catch (Raised&) {
    return nullptr;
  } catch (std::exception& e) {
    PyErr_SetString(PyExc_ImportError, e.what());
    return nullptr;
  }
  return o;
}
}  // namespace volta_host

namespace at {
using namespace volta_host;
PyObject* Tensor::object() const {
  if (!impl) throw Error("an undefined tensor was used");
  return impl->object;
}
static Ref self(const Tensor& t) { t.object(); return box(t); }
IntArrayRef Tensor::sizes() const { return from<std::vector<int64_t>>(call("sizes", {self(*this)})); }
IntArrayRef Tensor::strides() const { return from<std::vector<int64_t>>(call("strides", {self(*this)})); }
int64_t Tensor::storage_offset() const { return from<int64_t>(call("storage_offset", {self(*this)})); }
bool Tensor::is_cuda() const { return from<bool>(call("is_cuda", {self(*this)})); }
bool Tensor::is_contiguous(MemoryFormat m) const { return from<bool>(call("is_contiguous", {self(*this), box(m)})); }
bool Tensor::is_non_overlapping_and_dense() const { return from<bool>(call("is_dense", {self(*this)})); }
ScalarType Tensor::scalar_type() const { return ScalarType(from<int64_t>(call("scalar_type_of", {self(*this)}))); }
MemoryFormat Tensor::suggest_memory_format(bool) const { return is_contiguous() || !is_contiguous(MemoryFormat::ChannelsLast) ? MemoryFormat::Contiguous : MemoryFormat::ChannelsLast; }
void* Tensor::raw_pointer(const ScalarType* wanted) const {
  return reinterpret_cast<void*>(from<int64_t>(call("pointer", {self(*this), wanted ? box(int64_t(*wanted)) : box(std::nullopt)})));
}
Scalar Tensor::item() const { return from<Scalar>(call("item", {self(*this)})); }
Tensor Tensor::to(const TensorOptions& o, bool, bool copy, std::optional<MemoryFormat> m) const {
  return from<Tensor>(call("convert", {self(*this), box(o.type_), box(o.device_), box(copy), box(m)}));
}
Tensor Tensor::contiguous(MemoryFormat m) const { return from<Tensor>(call("contiguous", {self(*this), box(m)})); }
Tensor tensor_of(Ref values, const TensorOptions& o) { return from<Tensor>(call("tensor", {std::move(values), box(o.type_), box(o.device_)})); }
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& o) {
  return from<Tensor>(call("from_blob", {box(int64_t(reinterpret_cast<intptr_t>(data))), box(sizes), box(o.type_), box(o.device_)}));
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& o) { return from_blob(data, sizes, o).as_strided(sizes, strides); }
namespace cuda {
cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  return &p;
}
cublasContext* getCurrentCUDABlasHandle() { return reinterpret_cast<cublasContext*>(&half_to_float); }
cudaDeviceProp* getDeviceProperties(int64_t) { return getCurrentDeviceProperties(); }
CUDAStream getStreamFromPool(bool, int) { call("gap", {box("a stream from torch's pool")}); return {}; }
}  // namespace cuda
}  // namespace at
