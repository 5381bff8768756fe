#include "report/software.hpp"

#include <fmt/format.h>

#include "presets/load.hpp"

namespace llmcalc {
namespace {

bool is_given_by_hand(const Request& r) {
  return r.plan.efficiency || r.plan.memory_efficiency || r.plan.roofline == Roofline::step;
}

}  // namespace

std::string_view usual_software(const Request& r) {
  const bool cut = ranks(r.layout, Group::tensor) > 1 || ranks(r.layout, Group::pipeline) > 1;
  return cut || r.searches_layouts ? "megatron-lm" : "torch-fsdp";
}

void choose_software(Request& r) {
  if (r.software || !r.hardware || !r.has(part::training) || !r.has(part::time)) return;
  if (is_given_by_hand(r) || !r.hardware->achieved_how.empty()) return;
  r.software = load_software(usual_software(r));
}

Request for_training(Request r) {
  if (r.software)
    r.hardware->cluster.device.achieved =
        training_rates(training_estimator().parameters, *r.hardware, stack_of(*r.software, r.model.arch, r.plan));
  return r;
}

EstimateClass class_of(const Request& r) { return estimate_class(r.model.arch, *r.hardware, false); }

std::optional<EstimateInterval> interval_of(const Request& r) {
  if (!r.software || is_given_by_hand(r) || r.plan.overlap) return std::nullopt;
  const EstimateInterval i = training_estimator().interval(class_of(r));
  return i.known() ? std::optional(i) : std::nullopt;
}

std::string interval_text(double low, double high, Unit unit) {
  const std::string a = human_text(low, unit), b = human_text(high, unit);
  const std::string unit_of_a = a.substr(a.find(' ')), unit_of_b = b.substr(b.find(' '));
  return fmt::format("{} to {}", unit_of_a == unit_of_b ? a.substr(0, a.find(' ')) : a, b);
}

}  // namespace llmcalc
