// Compiled once per instruction set, with LLMCALC_ISA as the namespace.

#include "model/cpu/cpu.hpp"
#include "model/cpu/make.hpp"

namespace llmcalc::model::LLMCALC_ISA {

std::unique_ptr<Backend> make(Number number, bool poison) {
  switch (number) {
    case Number::f32:
      return std::make_unique<Cpu<float>>("cpu, float32", poison);
    case Number::bf16:
      return std::make_unique<Cpu<bf16>>("cpu, bfloat16", poison);
    case Number::f64:
      return std::make_unique<Cpu<double>>("cpu, float64", poison);
    case Number::counted:
      return std::make_unique<Cpu<Counted>>("cpu, counting", poison);
  }
  return nullptr;
}

}  // namespace llmcalc::model::LLMCALC_ISA
