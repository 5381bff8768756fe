#include "report/explain/interval.hpp"

#include "report/explain/setting.hpp"

namespace llmcalc::explain {

Formula within(const std::optional<EstimateInterval>& interval, const char* expression) {
  return {expression,
          {{"w", "factor within which 9 of 10 measurements agree with the estimate",
            number_text(interval ? interval->factor : 1)}}};
}

Formula within(const std::optional<EstimateInterval>& interval, const char* expression, const Setting& s,
               const char* bound) {
  Formula f = within(interval, expression);
  f.own.push_back(as_symbol(s, "t_0", "time at full efficiency (lower bound), s", bound));
  return f;
}

}  // namespace llmcalc::explain
