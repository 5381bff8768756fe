#include "ask/request/prices.hpp"

namespace llmcalc {

std::optional<double> price_of(const Request& r) {
  if (r.run.price) return r.run.price;
  if (!r.hardware || r.hardware->prices.empty()) return std::nullopt;
  return r.hardware->prices[0].usd_per_hour;
}

std::optional<double> watts_of(const Request& r) {
  if (r.run.watts) return r.run.watts;
  return r.hardware && r.hardware->watts > 0 ? std::optional(r.hardware->watts) : std::nullopt;
}

}  // namespace llmcalc
