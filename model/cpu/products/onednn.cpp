#include "model/cpu/products/onednn.hpp"

#ifdef LLMCALC_ONEDNN
#include <dlfcn.h>
#include <dnnl.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>
#endif

namespace llmcalc::model {

#if defined(LLMCALC_ONEDNN) && DNNL_VERSION_MAJOR == 2
namespace {

#define LLMCALC_TEXT_OF(x) #x
#define LLMCALC_TEXT(x) LLMCALC_TEXT_OF(x)
constexpr const char* file_name = "libdnnl.so." LLMCALC_TEXT(DNNL_VERSION_MAJOR);

/// Opens the library with passive waiting in OpenMP, whose threads would otherwise occupy the cores that our loops use.
void* open_onednn() {
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  return dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
}

/// The oneDNN functions in use, by name without the prefix dnnl_.
struct Library {
  void* file = open_onednn();
  bool complete = file != nullptr;

  template <typename F>
  F* function(F*, const char* name) {
    void* found = file != nullptr ? dlsym(file, name) : nullptr;
    complete = complete && found != nullptr;
    return reinterpret_cast<F*>(found);
  }
#define LLMCALC_FUNCTION(name) decltype(&dnnl_##name) name = function(decltype (&dnnl_##name)(), "dnnl_" #name)
  LLMCALC_FUNCTION(engine_create);
  LLMCALC_FUNCTION(stream_create);
  LLMCALC_FUNCTION(stream_wait);
  LLMCALC_FUNCTION(memory_desc_init_by_strides);
  LLMCALC_FUNCTION(matmul_desc_init);
  LLMCALC_FUNCTION(post_ops_create);
  LLMCALC_FUNCTION(post_ops_append_sum);
  LLMCALC_FUNCTION(post_ops_destroy);
  LLMCALC_FUNCTION(primitive_attr_create);
  LLMCALC_FUNCTION(primitive_attr_set_post_ops);
  LLMCALC_FUNCTION(primitive_attr_destroy);
  LLMCALC_FUNCTION(primitive_desc_create);
  LLMCALC_FUNCTION(primitive_desc_destroy);
  LLMCALC_FUNCTION(primitive_create);
  LLMCALC_FUNCTION(primitive_destroy);
  LLMCALC_FUNCTION(primitive_execute);
  LLMCALC_FUNCTION(memory_create);
  LLMCALC_FUNCTION(memory_set_data_handle);
  LLMCALC_FUNCTION(memory_destroy);
  LLMCALC_FUNCTION(sgemm);
  LLMCALC_FUNCTION(get_effective_cpu_isa);
#undef LLMCALC_FUNCTION

  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  Library() {
    complete = complete && (get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
    complete = complete && engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
               stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
  }
};

/// The library. Never destroyed, because its threads may outlive static objects.
Library& library() {
  static Library* const one = new Library;
  return *one;
}

/// Describes op(M), of rows x columns elements; if `transposed`, M is stored as columns x rows.
dnnl_memory_desc_t matrix(Library& l, Number format, Count rows, Count columns, Count stride, bool transposed) {
  dnnl_memory_desc_t d{};
  const dnnl_dims_t size = {rows, columns}, strides = {transposed ? 1 : stride, transposed ? stride : 1};
  const dnnl_data_type_t halves = format == Number::bf16 ? dnnl_bf16 : dnnl_f16;
  l.memory_desc_init_by_strides(&d, 2, size, format == Number::f32 ? dnnl_f32 : halves, strides);
  return d;
}

/// A compiled matmul of one shape.
class OneDnnProduct {
 public:
  OneDnnProduct(Library& l, const MatmulShape& s, Number from, Number to) : l_(l) {
    const dnnl_memory_desc_t a = matrix(l, from, s.m, s.k, s.lda, s.transpose_a);
    const dnnl_memory_desc_t b = matrix(l, from, s.k, s.n, s.ldb, s.transpose_b);
    const dnnl_memory_desc_t c = matrix(l, to, s.m, s.n, s.ldc, false);
    compile(a, b, c, s.add);
    if (primitive_ == nullptr) return;
    l.memory_create(&a_, &a, l.engine, DNNL_MEMORY_NONE);
    l.memory_create(&b_, &b, l.engine, DNNL_MEMORY_NONE);
    l.memory_create(&c_, &c, l.engine, DNNL_MEMORY_NONE);
  }
  OneDnnProduct(const OneDnnProduct&) = delete;
  OneDnnProduct& operator=(const OneDnnProduct&) = delete;
  ~OneDnnProduct() {
    if (primitive_ == nullptr) return;
    for (const dnnl_memory_t m : {a_, b_, c_}) l_.memory_destroy(m);
    l_.primitive_destroy(primitive_);
  }

  bool run(const void* a, const void* b, void* c) {
    if (primitive_ == nullptr) return false;
    l_.memory_set_data_handle(a_, const_cast<void*>(a));
    l_.memory_set_data_handle(b_, const_cast<void*>(b));
    l_.memory_set_data_handle(c_, c);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}};
    return l_.primitive_execute(primitive_, l_.stream, 3, arguments) == dnnl_success &&
           l_.stream_wait(l_.stream) == dnnl_success;
  }

 private:
  void compile(const dnnl_memory_desc_t& a, const dnnl_memory_desc_t& b, const dnnl_memory_desc_t& c, bool add) {
    dnnl_primitive_attr_t attributes = nullptr;
    dnnl_post_ops_t sum = nullptr;
    dnnl_primitive_desc_t description = nullptr;
    dnnl_matmul_desc_t product{};
    l_.primitive_attr_create(&attributes);
    l_.post_ops_create(&sum);
    if (add) l_.post_ops_append_sum(sum, 1);
    l_.primitive_attr_set_post_ops(attributes, sum);
    if (l_.matmul_desc_init(&product, &a, &b, nullptr, &c) == dnnl_success &&
        l_.primitive_desc_create(&description, &product, attributes, l_.engine, nullptr) == dnnl_success) {
      if (l_.primitive_create(&primitive_, description) != dnnl_success) primitive_ = nullptr;
      l_.primitive_desc_destroy(description);
    }
    l_.post_ops_destroy(sum);
    l_.primitive_attr_destroy(attributes);
  }

  Library& l_;
  dnnl_primitive_t primitive_ = nullptr;
  dnnl_memory_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
};

}  // namespace

bool onednn_matmul(const MatmulShape& shape, Number from, Number to, const void* a, const void* b, void* c) {
  static std::mutex one_at_a_time;
  static auto& products = *new std::map<std::tuple<MatmulShape, Number, Number>, OneDnnProduct>;
  const std::lock_guard lock(one_at_a_time);
  Library& l = library();
  if (!l.complete) return false;
  constexpr std::size_t enough = 512;
  if (products.size() >= enough) products.clear();
  const std::tuple key(shape, from, to);
  const auto at = products.find(key);
  OneDnnProduct& p = at != products.end() ? at->second
                                          : products
                                                .emplace(std::piecewise_construct, std::forward_as_tuple(key),
                                                         std::forward_as_tuple(l, shape, from, to))
                                                .first->second;
  return p.run(a, b, c);
}

bool onednn_there() { return library().complete; }

bool onednn_sgemm(const MatmulShape& s, const float* a, const float* b, float* c) {
  Library& l = library();
  const char op_a = s.transpose_a ? 'T' : 'N', op_b = s.transpose_b ? 'T' : 'N';
  const float keep = s.add ? 1 : 0;
  return l.complete && l.sgemm(op_a, op_b, s.m, s.n, s.k, 1, a, s.lda, b, s.ldb, keep, c, s.ldc) == dnnl_success;
}

#else

bool onednn_matmul(const MatmulShape&, Number, Number, const void*, const void*, void*) { return false; }
bool onednn_there() { return false; }
bool onednn_sgemm(const MatmulShape&, const float*, const float*, float*) { return false; }

#endif

}  // namespace llmcalc::model
