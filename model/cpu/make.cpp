#include "model/cpu/make.hpp"

namespace llmcalc::model {

// Each is defined by model/cpu/instantiate.cpp, compiled for that instruction set.
namespace portable {
std::unique_ptr<Backend> make(Number number, bool poison);
}
#ifdef LLMCALC_X86
namespace avx2 {
std::unique_ptr<Backend> make(Number number, bool poison);
}
namespace avx512 {
std::unique_ptr<Backend> make(Number number, bool poison);
}
#endif

std::unique_ptr<Backend> make_cpu(Number number, bool poison) {
#ifdef LLMCALC_X86
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return avx512::make(number, poison);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::make(number, poison);
#endif
  return portable::make(number, poison);
}

}  // namespace llmcalc::model
