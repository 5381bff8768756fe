#include "calc/textbook/muon.hpp"

namespace llmcalc::textbook {

Count adamw_parameters(const Arch& a) { return adamw_parameters(a, exact_sizes(a)).count(); }

Flops newton_schulz_flops(const Arch& a, Count iterations) {
  return newton_schulz_flops(a, exact_sizes(a), Fraction(iterations)).flops();
}

}  // namespace llmcalc::textbook
