#pragma once
/// Verdict on whether a plan fits.

#include <array>

#include "calc/choice.hpp"

namespace llmcalc {

enum class FitVerdict : std::uint8_t {
  no,        ///< even the low end of the interval exceeds the memory
  unlikely,  ///< the memory lies inside the interval, P < 0.5
  likely,    ///< the memory lies inside the interval, P >= 0.5
  yes        ///< the high end of the interval fits
};
template <>
inline constexpr auto choices<FitVerdict> =
    std::array{Choice{FitVerdict::no, "no"}, Choice{FitVerdict::unlikely, "unlikely"},
               Choice{FitVerdict::likely, "likely"}, Choice{FitVerdict::yes, "yes"}};

struct Fit {
  FitVerdict verdict = FitVerdict::no;
  double probability = 0;
  bool is_expected() const { return probability >= 0.5; }
};

}  // namespace llmcalc
