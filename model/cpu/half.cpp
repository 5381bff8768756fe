// The half precision backend, compiled as instantiate.cpp is, and beside it.

#include "model/cpu/cpu.hpp"

namespace llmcalc::model::LLMCALC_ISA {

std::unique_ptr<Backend> make_half(bool poison) { return std::make_unique<Cpu<fp16>>("cpu, float16", poison); }

}  // namespace llmcalc::model::LLMCALC_ISA
