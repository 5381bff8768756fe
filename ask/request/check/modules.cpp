#include "ask/request/check/modules.hpp"

#include <fmt/format.h>

#include "text/counted.hpp"
#include "text/error.hpp"

namespace llmcalc {

void check_modules(const Request& r) {
  const Count asked = r.plan.mtp, there = r.model.arch.mtp.modules;
  if (asked == 0) return;
  if (asked > there)
    throw InputError(fmt::format("--mtp {} exceeds the {} for multi-token prediction in {}; set at most {}", asked,
                                 counted(there, "module"), r.model.name, there));
  if (r.has(part::training | part::formulas) && trains_part(r.plan))
    throw InputError(fmt::format("--mtp requires training of all weights; omit --mtp or {}",
                                 trains_adapters(r.plan) ? "--lora" : "--freeze"));
  if (r.has(part::inference) && !r.plan.kv_cache)
    throw InputError("--mtp drafts tokens, which requires a KV cache; omit --mtp or --no-kv-cache");
}

}  // namespace llmcalc
