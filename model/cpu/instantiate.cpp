// float32 and 16-bit backends, compiled once per instruction set, with LLMCALC_ISA as the namespace.

#include "model/cpu/cpu.hpp"
#include "model/cpu/make.hpp"

namespace llmcalc::model::LLMCALC_ISA {

std::unique_ptr<Backend> make_half(bool poison);  // model/cpu/half.cpp

std::unique_ptr<Backend> make(Number number, bool poison) {
  if (number == Number::bf16) return std::make_unique<Cpu<bf16>>("cpu, bfloat16", poison);
  if (number == Number::f16) return make_half(poison);
  return std::make_unique<Cpu<float>>("cpu, float32", poison);
}

}  // namespace llmcalc::model::LLMCALC_ISA
