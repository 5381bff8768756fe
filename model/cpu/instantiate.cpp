// float32 and bfloat16 backends, compiled once per instruction set, with LLMCALC_ISA as the namespace.

#include "model/cpu/cpu.hpp"
#include "model/cpu/make.hpp"

namespace llmcalc::model::LLMCALC_ISA {

std::unique_ptr<Backend> make(Number number, bool poison) {
  if (number == Number::bf16) return std::make_unique<Cpu<bf16>>("cpu, bfloat16", poison);
  return std::make_unique<Cpu<float>>("cpu, float32", poison);
}

}  // namespace llmcalc::model::LLMCALC_ISA
