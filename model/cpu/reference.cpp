// Backends for the reference number types, compiled once for all CPUs, with separate tiles.

#include "model/cpu/cpu.hpp"
#include "model/cpu/make_backend.hpp"

namespace llmcalc::model {

template <>
std::unique_ptr<Backend> make_backend<double>(bool poison) {
  return std::make_unique<LLMCALC_ISA::Cpu<double>>("cpu, float64", poison);
}
template <>
std::unique_ptr<Backend> make_backend<Counted>(bool poison) {
  return std::make_unique<LLMCALC_ISA::Cpu<Counted>>("cpu, counting", poison);
}

}  // namespace llmcalc::model
