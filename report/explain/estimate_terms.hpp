#pragma once
/// Parameters of an estimated time: those that affect it, their values, the sources of their defaults, and the
/// published measurements to which they were fitted.

#include <string>
#include <vector>

#include "report/explain/setting.hpp"

namespace llmcalc::explain {

struct EnteringParameter {
  std::string name, meaning, source;  ///< name and meaning of the parameter; source of its default
  double value = 0, standard = 0;     ///< fitted value and default
  double effect = 0;                  ///< change in the time if the parameter is raised by a tenth
};

struct EstimateTerms {
  std::vector<EnteringParameter> parameters;  ///< largest effect first
  std::string fitted;                         ///< date and data of the fit
  std::string interval;                       ///< a sentence with the interval's sources; empty without an interval
};

/// Terms of a time estimated with software or an engine: "step.time_s", a part of it, "prefill.time_s",
/// "decode.time_per_token_s". Empty for other quantities. Repeats the estimate with each parameter raised by a tenth.
EstimateTerms estimate_terms(const Setting& s, std::string_view path);

}  // namespace llmcalc::explain
