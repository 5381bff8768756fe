#include "report/brief/provenance.hpp"

#include <fmt/format.h>

#include "ask/request/machine.hpp"
#include "ask/request/prices.hpp"

namespace llmcalc {
namespace {

/// The software of the answer: "vllm 0.25, the default"; "megatron-lm 0.19 and vllm 0.25, the defaults".
std::string software_text(const Request& r) {
  const bool trains = r.has(part::training) && r.software, infers = r.has(part::inference) && r.engine;
  const std::string trained = trains ? r.software->named_version() : "",
                    served = infers ? r.engine->named_version() : "";
  const bool both = trains && infers && trained != served;
  if (!trains && !infers) return "";
  const std::string names = both ? fmt::format("{} and {}", trained, served) : trains ? trained : served;
  return r.gave("--software") ? names : names + (both ? ", the defaults" : ", the default");
}

std::string price_text(const Request& r) {
  const std::optional<double> usd = price_of(r);
  if (!usd) return "";
  return fmt::format("{} USD per GPU-hour ({})", *usd,
                     r.run.price             ? "--price"
                     : has_unlike_devices(r) ? "mean of the devices"
                                             : price_source_text(r.hardware->prices[0]));
}

}  // namespace

std::string price_source_text(const Price& p) {
  if (p.seller.empty()) return p.source;
  return fmt::format("{}, {}{}", p.seller, p.date, p.recalled ? ", recalled" : "");
}

Finding provenance_finding(const Request& r, bool has_costs) {
  const std::string software = software_text(r), price = has_costs ? price_text(r) : "";
  return {"with", software + (software.empty() || price.empty() ? "" : "; ") + price};
}

}  // namespace llmcalc
