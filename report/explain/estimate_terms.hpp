#pragma once
/// The parameters behind an estimated time: those that change it, what they are worth, where their defaults are from,
/// and which published measurements stand behind them.

#include <string>
#include <vector>

#include "report/explain/setting.hpp"

namespace llmcalc::explain {

struct EnteringParameter {
  std::string name, meaning, source;  ///< the source of the default
  double value = 0, standard = 0;     ///< fitted, and the default
  double effect = 0;                  ///< change of the time with a tenth more of it
};

struct EstimateTerms {
  std::vector<EnteringParameter> parameters;  ///< the largest effect first
  std::string fitted;                         ///< when, and to what
  std::string interval;                       ///< the sources behind it, in a sentence; empty: there is none
};

/// Of a time that is estimated under software or an engine: "step.time_s", a part of it, "prefill.time_s",
/// "decode.time_per_token_s". Empty for other quantities. Each parameter is tried: the time is estimated once more with
/// a tenth more of it.
EstimateTerms estimate_terms(const Setting& s, std::string_view path);

}  // namespace llmcalc::explain
