// pybind11's face: a module whose functions take Python values as strictly as pybind11 does.
#pragma once
namespace volta_host {
struct Argument {
  std::string name;
  PyObject* fallback = nullptr;
  Argument(const char* n) : name(n) {}
  Argument& noconvert(bool = true) { return *this; }
  Argument& none(bool = true) { return *this; }
  template <class T> Argument operator=(const T& v) const { Argument a(*this); a.fallback = box(v).release(); return a; }
};
struct Function {
  std::string name;
  size_t count;
  std::vector<Argument> arguments;
  std::function<Ref(const std::vector<PyObject*>&)> run;
};
template <class F> struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A> struct Signature<R (*)(A...)> { using Result = R; using Tuple = std::tuple<std::decay_t<A>...>; };
template <class R, class C, class... A> struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class R, class C, class... A> struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class F, class... A, size_t... I> Ref invoke(const F& f, const std::vector<PyObject*>& v, std::tuple<A...>*, std::index_sequence<I...>) {
  std::tuple<A...> values{From<A>::of(v[I])...};
  if constexpr (std::is_void<decltype(f(std::get<I>(values)...))>::value) { f(std::get<I>(values)...); return box(std::nullopt); }
  else return box(f(std::get<I>(values)...));
}
void define(PyObject* module, Function* function);
struct Module {
  PyObject* object;
  struct Attribute { PyObject* o; std::string n; template <class T> void operator=(const T& v) { PyObject_SetAttrString(o, n.c_str(), box(v).o); } };
  std::string& doc() { static std::string text; return text; }
  Attribute attr(const char* name) { return {object, name}; }
  template <class F, class... X> Module& def(const char* name, F f, const X&... extra) {
    using S = Signature<F>;
    auto* function = new Function{name, std::tuple_size<typename S::Tuple>::value, {}, {}};
    (add(*function, extra), ...);
    function->run = [f](const std::vector<PyObject*>& v) {
      return invoke(f, v, static_cast<typename S::Tuple*>(nullptr), std::make_index_sequence<std::tuple_size<typename S::Tuple>::value>{});
    };
    define(object, function);
    return *this;
  }
  static void add(Function& f, const Argument& a) { f.arguments.push_back(a); }
  template <class T> static void add(Function&, const T&) {}
};
PyObject* make_module(const char* name, PyModuleDef* definition, void (*fill)(Module&));
}  // namespace volta_host

namespace pybind11 {
using arg = volta_host::Argument;
using module_ = volta_host::Module;
using module = volta_host::Module;
struct gil_scoped_release { gil_scoped_release() {} };
struct gil_scoped_acquire { gil_scoped_acquire() {} };
template <class T> struct call_guard {};
struct kw_only {};
struct pos_only {};
namespace literals { inline arg operator""_a(const char* n, size_t) { return arg(n); } }
template <class... A> struct overload_cast_impl { template <class R> constexpr auto operator()(R (*f)(A...)) const { return f; } };
template <class... A> constexpr overload_cast_impl<A...> overload_cast{};
inline std::nullopt_t none() { return std::nullopt; }
struct value_error : std::runtime_error { using std::runtime_error::runtime_error; };
}  // namespace pybind11
namespace py = pybind11;
#define VOLTA_JOIN_(a, b) a##b
#define VOLTA_JOIN(a, b) VOLTA_JOIN_(a, b)
#define PYBIND11_MODULE(name, m, ...) \
  static void volta_fill_module(volta_host::Module& m); \
  extern "C" __attribute__((visibility("default"))) PyObject* VOLTA_JOIN(PyInit_, name)() { \
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "extension", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr}; \
    return volta_host::make_module("extension", &definition, volta_fill_module); } \
  static void volta_fill_module([[maybe_unused]] volta_host::Module& m)
