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

Section sensitivity_section(const Request& r) {
  return changes_section({"sensitivity", "a tenth more of it changes the step by", {}}, step_sensitivity(r));
}

Section decode_sensitivity_section(const Request& r) {
  return changes_section({"decode_sensitivity", "a tenth more of it changes the time per token by", {}},
                         decode_sensitivity(r));
}

}  // namespace llmcalc
