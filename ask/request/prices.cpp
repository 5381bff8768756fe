#include "ask/request/prices.hpp"

#include <algorithm>

#include "ask/request/machine.hpp"

namespace llmcalc {

std::optional<double> price_of(const Request& r) {
  if (r.run.price) return r.run.price;
  if (!r.hardware) return std::nullopt;
  double all = 0;
  const Count kinds = std::max<Count>(1, static_cast<Count>(r.machine.size()));
  for (Count i = 0; i < kinds; ++i) {
    const HardwareCard& card = card_of_stage(r, i);
    if (card.prices.empty()) return std::nullopt;
    all += card.prices[0].usd_per_hour;
  }
  return all / static_cast<double>(kinds);
}

std::optional<double> watts_of(const Request& r) {
  if (r.run.watts) return r.run.watts;
  return r.hardware && r.hardware->watts > 0 ? std::optional(r.hardware->watts) : std::nullopt;
}

}  // namespace llmcalc
