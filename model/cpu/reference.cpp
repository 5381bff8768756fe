// The reference number types, compiled once, for every processor.

#include "model/cpu/cpu.hpp"
#include "model/cpu/make.hpp"

namespace llmcalc::model::portable {

std::unique_ptr<Backend> make_reference(Number number, bool poison) {
  if (number == Number::counted) return std::make_unique<Cpu<Counted>>("cpu, counting", poison);
  return std::make_unique<Cpu<double>>("cpu, float64", poison);
}

}  // namespace llmcalc::model::portable
