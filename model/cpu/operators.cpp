// Backends for element formats with hardware arithmetic, compiled once for all CPUs; their tiles are compiled once per
// instruction set.

#include "model/cpu/cpu.hpp"
#include "model/cpu/make_backend.hpp"

namespace llmcalc::model {

template <>
std::unique_ptr<Backend> make_backend<float>(bool poison) {
  return std::make_unique<LLMCALC_ISA::Cpu<float>>("cpu, float32", poison);
}
template <>
std::unique_ptr<Backend> make_backend<bf16>(bool poison) {
  return std::make_unique<LLMCALC_ISA::Cpu<bf16>>("cpu, bfloat16", poison);
}
template <>
std::unique_ptr<Backend> make_backend<fp16>(bool poison) {
  return std::make_unique<LLMCALC_ISA::Cpu<fp16>>("cpu, float16", poison);
}

}  // namespace llmcalc::model
