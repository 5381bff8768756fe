#include "ask/request/options/ignored.hpp"

#include <fmt/format.h>

#include "ask/request/options/options.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Why an option has no effect when the answer lacks the parts that it affects.
std::string why_other_part(const Request& r, const Option& o) {
  const bool trains = r.has(part::training), infers = r.has(part::inference);
  if (trains == infers) return fmt::format("{} has no effect on this result; omit it", o.flag);
  const std::string_view here = trains ? "training" : "inference", there = trains ? "inference" : "training";
  if (!o.instead.empty()) return fmt::format("{} applies to {}; for {} use {}", o.flag, there, here, o.instead);
  return fmt::format("{} applies to {}, but this result is for {}; omit it", o.flag, there, here);
}

}  // namespace

std::string why_ignored(const Request& r, const Option& o) {
  if (!r.has(o.parts)) return why_other_part(r, o);
  if (!o.needs.empty() && !r.gave(o.needs) && !r.searches(o.needs) && r.has(find_option(o.needs)->parts))
    return fmt::format("{} has no effect without {}; add {}, or omit {}", o.flag, o.needs, o.needs, o.flag);
  const std::string_view why = o.idle == nullptr ? "" : o.idle(r);
  return why.empty() ? "" : fmt::format("{} {}", o.flag, why);
}

void refuse_ignored(const Request& r) {
  for (const std::string_view flag : r.given)
    if (const std::string why = why_ignored(r, *find_option(flag)); !why.empty()) throw InputError(why);
}

}  // namespace llmcalc
