#include "model/cpu/make.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "text/error.hpp"

namespace llmcalc::model {

// float32, bfloat16 and half precision: each is defined by model/cpu/instantiate.cpp, compiled for that instruction
// set.
namespace portable {
std::unique_ptr<Backend> make(Number number, bool poison);
std::unique_ptr<Backend> make_reference(Number number, bool poison);  ///< the others: model/cpu/reference.cpp
}  // namespace portable
namespace avx2 {
std::unique_ptr<Backend> make(Number number, bool poison);
}
namespace avx512 {
std::unique_ptr<Backend> make(Number number, bool poison);
}

namespace {

using Make = std::unique_ptr<Backend> (*)(Number, bool);
struct Kernels {
  std::string_view instruction_set;
  Make make;
};

/// The kernels that this processor can run, best first.
std::vector<Kernels> kernels() {
  std::vector<Kernels> all;
#ifdef LLMCALC_AVX512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    all.push_back({"avx512", avx512::make});
#endif
#ifdef LLMCALC_AVX2
  // Every processor with AVX2 has F16C, too, which Clang 14 cannot be asked for.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back({"avx2", avx2::make});
#endif
  all.push_back({"portable", portable::make});
  return all;
}

}  // namespace

std::vector<std::string_view> instruction_sets() {
  std::vector<std::string_view> names;
  for (const Kernels& k : kernels()) names.push_back(k.instruction_set);
  return names;
}

std::unique_ptr<Backend> make_cpu(Number number, bool poison) {
  const char* const only = std::getenv("LLMCALC_ISA");
  const bool runs = number != Number::f64 && number != Number::counted;
  for (const Kernels& k : kernels())
    if (only == nullptr || k.instruction_set == only) return (runs ? k.make : portable::make_reference)(number, poison);
  throw InputError(
      fmt::format("LLMCALC_ISA: this processor has {}; got \"{}\"", fmt::join(instruction_sets(), ", "), only));
}

}  // namespace llmcalc::model
