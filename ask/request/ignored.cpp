#include "ask/request/ignored.hpp"

#include <fmt/format.h>

#include "ask/request/options.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// An option of parts that this answer does not have.
void refuse_other_part(const Request& r, const Option& o) {
  const bool trains = r.has(part::training), infers = r.has(part::inference);
  if (trains == infers) throw InputError(fmt::format("{} changes nothing in this answer; leave it out", o.flag));
  const std::string_view here = trains ? "training" : "inference", there = trains ? "inference" : "training";
  if (!o.instead.empty()) throw InputError(fmt::format("{} is for {}; for {} use {}", o.flag, there, here, o.instead));
  throw InputError(fmt::format("{} is for {}, and this is about {}; leave it out", o.flag, there, here));
}

}  // namespace

void refuse_ignored(const Request& r) {
  for (const std::string_view flag : r.given) {
    const Option& o = *find_option(flag);
    if (!r.has(o.parts)) refuse_other_part(r, o);
    if (!o.needs.empty() && !r.gave(o.needs) && !r.searches(o.needs) && r.has(find_option(o.needs)->parts))
      throw InputError(fmt::format("{} changes nothing without {}; add it, or leave {} out", flag, o.needs, flag));
    if (const std::string_view why = o.idle == nullptr ? "" : o.idle(r); !why.empty())
      throw InputError(fmt::format("{} {}", flag, why));
  }
}

}  // namespace llmcalc
