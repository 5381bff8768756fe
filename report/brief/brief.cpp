#include "report/brief/brief.hpp"

#include <fmt/format.h>

#include "ask/request/machine.hpp"
#include "report/brief/provenance.hpp"

namespace llmcalc {

Brief brief_of(const Request& r, std::string_view why, bool has_costs) {
  Brief b;
  if (!r.model.origin.empty()) b.findings.push_back({"model", r.model.origin});
  if (r.hardware) b.findings.push_back(provenance_finding(r, has_costs));
  b.more = "more: --full";
  if (has_stages(r)) return b;  // explanations and operator tables describe a single device
  const std::string_view operators = r.has(part::operators) ? ", --ops" : "";
  b.more = fmt::format("more: --full{}; why: llmcalc explain {}", operators, why);
  return b;
}

}  // namespace llmcalc
