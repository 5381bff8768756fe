#include "ask/request/offload.hpp"
#include "ask/request/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ask/request/options/option_values.hpp"
#include "calc/training/offload.hpp"
#include "text/quantity.hpp"

namespace llmcalc {

namespace {

struct OffloadPart {
  std::string_view name;
  Ratio Offload::*fraction;
};
constexpr std::array offload_parts{OffloadPart{"activations", &Offload::activations},
                                   OffloadPart{"optimizer", &Offload::optimizer},
                                   OffloadPart{"weights", &Offload::weights}, OffloadPart{"experts", &Offload::experts},
                                   OffloadPart{"kv", &Offload::cache}};

/// Reads a fraction such as "0.5", in millionths, so that byte counts stay integers.
Ratio read_part(std::string_view text, std::string_view where) {
  constexpr Count parts = 1'000'000;
  const double x = parse_real(text, where);
  const Count n = x <= 1 ? std::llround(x * static_cast<double>(parts)) : 0;
  if (n < 1) refuse_value(where, "a fraction above 0 and at most 1, with at most six decimals", text);
  const Count common = std::gcd(n, parts);
  return {n / common, parts / common};
}

void add_offload(Offload& all, std::string_view one, std::string_view where) {
  const std::size_t colon = one.find(':');
  const std::string_view name = one.substr(0, colon);
  for (const OffloadPart& part : offload_parts) {
    if (!same_spelling(name, part.name)) continue;
    if ((all.*part.fraction).numerator > 0)
      throw InputError(fmt::format("{}: {} is specified twice; omit one", where, part.name));
    all.*part.fraction = colon == std::string_view::npos ? Ratio{1, 1} : read_part(one.substr(colon + 1), where);
    return;
  }
  refuse_value(where, "activations, optimizer, weights, experts or kv, each with an optional fraction (optimizer:0.5)",
               one);
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

double usual_utilization(const Request& r) {
  if (r.hardware && has_traffic(r.serving)) return serving_utilization(r);
  return r.hardware && r.hardware->usable > 0 && !r.has(part::training) ? r.hardware->usable : 1;
}

namespace {

void check_way_to_host(const Request& r) {
  if (r.hardware && r.hardware->cluster.device.host.link.value <= 0)
    throw InputError(
        fmt::format("--offload requires a host link, which {} does not define; set --offload-bandwidth, or pass a "
                    "hardware file with \"pcie\": {{\"bandwidth\": \"...\"}}",
                    r.hardware->name));
}

void check_trained_offload(const Request& r) {
  const Offload& o = r.plan.offload;
  if (o.for_inference_alone())
    throw InputError(
        "--offload experts and kv apply to inference; for training use weights, optimizer and activations");
  if (o.optimizer.numerator > 0 && traits(r.plan.optimizer).orthogonalizes)
    throw InputError("--offload optimizer computes updates on the host, but muon's matmuls need the device; omit it");
  if (o.optimizer.numerator > 0 && !updates_on_host(r.plan))
    throw InputError("--offload optimizer: this optimizer has no state without a master copy; omit it");
}

void check_served_offload(const Request& r) {
  const Offload& o = r.plan.offload;
  if (o.for_training_alone())
    throw InputError(
        "--offload activations and optimizer apply to training; for inference use weights, experts and kv");
  if (o.experts.numerator > 0 && !r.model.arch.has_experts())
    throw InputError(fmt::format("--offload experts: {} has no experts; use weights", r.model.name));
  if (o.cache.numerator == o.cache.denominator)
    throw InputError(
        "--offload kv leaves no cache on the device for the tokens of a pass; set a fraction, for example kv:0.9");
  if (o.any() && r.plan.roofline == Roofline::step)
    throw InputError(
        "--offload cannot be combined with --roofline step, because transfer times are added operator by operator; "
        "use --roofline op");
}

}  // namespace

void check_offload(const Request& r, Parts parts) {
  if (!r.plan.offload.any()) return;
  check_way_to_host(r);
  (parts & part::training) != 0 ? check_trained_offload(r) : check_served_offload(r);
}

}  // namespace llmcalc
