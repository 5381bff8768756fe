#include "report/train/sensitivity_section.hpp"

#include "ask/answer/sensitivity.hpp"
#include "text/format.hpp"

namespace llmcalc {

namespace {

Section changes_section(Section s, const std::vector<TimeChange>& all) {
  for (const TimeChange& c : all) s.add(std::string(c.key), std::string(c.label), c.change, Unit::ratio);
  return s;
}

}  // namespace

Section sensitivity_section(const TrainingAnswer& a) {
  return changes_section({"sensitivity", "change in step time from a 10 % improvement", {}}, a.sensitivity());
}

Section decode_sensitivity_section(const InferenceAnswer& a) {
  return changes_section({"decode_sensitivity", "change in time per token from a 10 % improvement", {}},
                         a.sensitivity());
}

}  // namespace llmcalc
