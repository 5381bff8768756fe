#include "report/offload.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>

#include "calc/offload.hpp"
#include "report/option_values.hpp"
#include "text/quantity.hpp"

namespace llmcalc {

namespace {

struct OffloadPart {
  std::string_view name;
  Ratio Offload::*fraction;
};
constexpr std::array offload_parts{OffloadPart{"activations", &Offload::activations},
                                   OffloadPart{"optimizer", &Offload::optimizer},
                                   OffloadPart{"weights", &Offload::weights}};

/// "0.5": in millionths, so that bytes stay whole.
Ratio read_part(std::string_view text, std::string_view where) {
  constexpr Count parts = 1'000'000;
  const double x = parse_real(text, where);
  const Count n = x <= 1 ? std::llround(x * static_cast<double>(parts)) : 0;
  if (n < 1) refuse_value(where, "a fraction above 0 and at most 1, of at most six decimals", text);
  const Count common = std::gcd(n, parts);
  return {n / common, parts / common};
}

void add_offload(Offload& all, std::string_view one, std::string_view where) {
  const std::size_t colon = one.find(':');
  const std::string_view name = one.substr(0, colon);
  for (const OffloadPart& part : offload_parts) {
    if (!same_spelling(name, part.name)) continue;
    if ((all.*part.fraction).numerator > 0)
      throw InputError(fmt::format("{}: {} is there twice; leave one out", where, part.name));
    all.*part.fraction = colon == std::string_view::npos ? Ratio{1, 1} : read_part(one.substr(colon + 1), where);
    return;
  }
  refuse_value(where, "activations, optimizer or weights, each with a fraction if not all of it (optimizer:0.5)", one);
}

}  // namespace

Offload read_offload(std::string_view text, std::string_view where) {
  Offload all;
  if (same_spelling(text, "none")) return all;
  while (true) {
    const std::size_t comma = text.find(',');
    add_offload(all, text.substr(0, comma), where);
    if (comma == std::string_view::npos) return all;
    text.remove_prefix(comma + 1);
  }
}

std::string offload_text(const Offload& o) {
  std::string s;
  for (const auto& [name, fraction] : offload_parts) {
    const Ratio f = o.*fraction;
    if (f.numerator == 0) continue;
    s += (s.empty() ? "" : ",") + std::string(name);
    if (f != Ratio{1, 1}) s += fmt::format(":{:.7g}", f.value());
  }
  return s.empty() ? "none" : s;
}

void check_offload(const Request& r) {
  const Offload& o = r.plan.offload;
  if (o.any() && r.hardware && r.hardware->cluster.device.host.link.value <= 0)
    throw InputError(
        fmt::format("--offload needs a link to the host, and {} states none; give a hardware file with "
                    "\"pcie\": {{\"bandwidth\": \"...\"}}",
                    r.hardware->name));
  if (o.optimizer.numerator > 0 && r.plan.optimizer == Optimizer::muon)
    throw InputError("--offload optimizer updates on the host, and muon's products need the device; leave it out");
  if (o.optimizer.numerator > 0 && !updates_on_host(r.plan))
    throw InputError("--offload optimizer: this optimizer keeps no state without a master copy; leave it out");
}

}  // namespace llmcalc
