#include "report/brief/provenance.hpp"

#include <fmt/format.h>

#include "ask/request/prices.hpp"

namespace llmcalc {
namespace {

std::string stacks_text(const Request& r) {
  const bool trains = r.has(part::training) && r.software, infers = r.has(part::inference) && r.engine;
  if (trains && infers && r.software->name != r.engine->name)
    return fmt::format("{} for training, {} for inference", r.software->named_version(), r.engine->named_version());
  return trains ? r.software->named_version() : infers ? r.engine->named_version() : "";
}

}  // namespace

Finding software_finding(const Request& r) {
  const std::string stacks = stacks_text(r);
  if (stacks.empty()) return {};
  return {"software", stacks + (r.gave("--software") ? "" : ", the default")};
}

std::string price_source_text(const Price& p) {
  if (p.seller.empty()) return p.source;
  return fmt::format("{}, {}{}", p.seller, p.date, p.recalled ? ", recalled" : "");
}

Finding price_finding(const Request& r) {
  const std::optional<double> usd = price_of(r);
  if (!usd) return {};
  const std::string source = r.run.price ? "--price" : price_source_text(r.hardware->prices[0]);
  return {"price", fmt::format("{} USD per GPU-hour: {}", *usd, source)};
}

}  // namespace llmcalc
