#include "model/cpu/make.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "model/cpu/make_backend.hpp"
#include "model/cpu/tiles.hpp"
#include "text/error.hpp"

namespace llmcalc::model {

// Defined by model/cpu/tiles.cpp, compiled for each instruction set.
namespace portable {
const AllTiles& all_tiles();
}
namespace avx2 {
const AllTiles& all_tiles();
}
namespace avx512 {
const AllTiles& all_tiles();
}

namespace {

struct Kernels {
  std::string_view instruction_set;
  const AllTiles& (*tiles)();
};

/// The kernels that this CPU can run, best first.
std::vector<Kernels> kernels() {
  std::vector<Kernels> all;
#ifdef LLMCALC_AVX512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    all.push_back({"avx512", avx512::all_tiles});
#endif
#ifdef LLMCALC_AVX2
  // Every CPU with AVX2 also has F16C, which Clang 14 cannot query.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back({"avx2", avx2::all_tiles});
#endif
  all.push_back({"portable", portable::all_tiles});
  return all;
}

std::unique_ptr<Backend> backend_of(Number number, bool poison) {
  switch (number) {
    case Number::f32:
      return make_backend<float>(poison);
    case Number::bf16:
      return make_backend<bf16>(poison);
    case Number::f16:
      return make_backend<fp16>(poison);
    case Number::f64:
      return make_backend<double>(poison);
    default:
      return make_backend<Counted>(poison);
  }
}

}  // namespace

std::vector<std::string_view> instruction_sets() {
  std::vector<std::string_view> names;
  for (const Kernels& k : kernels()) names.push_back(k.instruction_set);
  return names;
}

std::unique_ptr<Backend> make_cpu(Number number, bool poison) {
  const char* const only = std::getenv("LLMCALC_ISA");
  for (const Kernels& k : kernels())
    if (only == nullptr || k.instruction_set == only) {
      tiles_in_use.store(&k.tiles(), std::memory_order_relaxed);
      return backend_of(number, poison);
    }
  throw InputError(
      fmt::format("LLMCALC_ISA: this processor supports {}; got \"{}\"", fmt::join(instruction_sets(), ", "), only));
}

}  // namespace llmcalc::model
