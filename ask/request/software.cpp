#include "ask/request/software.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "ask/request/capability.hpp"
#include "ask/request/host.hpp"
#include "ask/request/server.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"

namespace llmcalc {

namespace {

bool begins_with(const std::string& name, std::initializer_list<const char*> begins) {
  return std::any_of(begins.begin(), begins.end(), [&](const char* b) { return name.starts_with(b); });
}

}  // namespace

bool has_stated_efficiency(const Request& r) {
  return r.plan.efficiency || r.plan.memory_efficiency || r.plan.roofline == Roofline::step;
}

bool is_processor(const HardwareCard& card) { return card.form_factor == "socket" || card.name == "nvidia-grace-cpu"; }

namespace {

/// Returns the stack `found` if there is one. Otherwise returns `usual` if capabilities do not matter, else throws
/// InputError.
std::string capable(const Request& r, std::string_view usual, std::string_view found,
                    const std::vector<Demand>& demands) {
  if (!found.empty()) return std::string(found);
  if (r.any_software || r.without_software || has_stated_efficiency(r)) return std::string(usual);
  const SoftwareCard card = load_software(usual);
  throw InputError(
      fmt::format("no known software has all of this; {}; add --any-software to estimate it with {} anyway",
                  unmet_text(card, *unmet(card, demands)), usual));
}

/// Whether the device is a personal one, on which a single user runs a single model.
bool is_personal(const HardwareCard& card) {
  const Chip chip = chip_of(card);
  return chip == Chip::apple || chip == Chip::unified || is_processor(card) ||
         begins_with(card.name, {"gtx-", "rtx-20", "rtx-30", "rtx-40", "rtx-50", "rx-", "arc-a", "arc-b", "arc-1"});
}

}  // namespace

namespace {

std::string_view familiar_trainer(const Request& r) {
  const bool sharded = ranks(r.layout, Group::tensor) > 1 || ranks(r.layout, Group::pipeline) > 1;
  return sharded || r.searches_layouts ? "megatron-lm" : "torch-fsdp";
}

std::string_view familiar_engine(const Request& r) {
  const HardwareCard& card = *r.hardware;
  if (chip_of(card) == Chip::neuron) return "transformers-neuronx";
  if (chip_of(card) == Chip::gaudi) return "optimum-habana";
  if (card.name.starts_with("tpu")) return "jetstream";
  return is_personal(card) && ranks(r.layout, Group::tensor) == 1 ? "llama.cpp" : "vllm";
}

}  // namespace

std::string usual_software(const Request& r) {
  const std::string_view familiar = familiar_trainer(r);
  return capable(r, familiar, capable_trainer(r, familiar), training_demands(r));
}

std::string usual_engine(const Request& r) {
  const std::string_view familiar = familiar_engine(r);
  return capable(r, familiar, capable_engine(r, familiar), inference_demands(r));
}

bool is_launchable(const Request& r) {
  if (r.any_software || r.without_software) return true;
  if (r.gave("--software")) return !r.software || !unmet(*r.software, training_demands(r));
  return !capable_trainer(r, familiar_trainer(r)).empty();
}

void choose_software(Request& r) {
  if (!r.hardware || has_stated_efficiency(r) || r.without_software) return;
  if (!r.software && r.has(part::training) && r.has(part::time)) r.software = load_software(usual_software(r));
  if (!r.has(part::of_inference)) return;
  if (r.engine && r.gave("--software")) return;
  if (const std::string usual = usual_engine(r); !r.engine || r.engine->name != usual) r.engine = load_software(usual);
}

namespace {

void refuse_unmet(const Request& r, const std::optional<SoftwareCard>& software, const std::vector<Demand>& demands) {
  if (!software || r.any_software) return;
  if (const auto missing = unmet(*software, demands))
    throw InputError(fmt::format("{}; add --any-software to estimate it anyway", unmet_text(*software, *missing)));
}

}  // namespace

void check_software(const Request& r, Parts parts) {
  const bool trains = (parts & part::training) != 0;
  const bool infers = (parts & part::of_inference) != 0;
  if (!r.gave("--software")) return;
  if (trains) refuse_unmet(r, r.software, training_demands(r));
  if (infers) refuse_unmet(r, r.engine, inference_demands(r));
  if (trains == infers) return;
  const SoftwareCard* other = trains ? (r.engine ? &*r.engine : nullptr) : r.software ? &*r.software : nullptr;
  if (other != nullptr)
    throw InputError(fmt::format(
        "--software: {} is for {}, but the result is for {}; {}", other->name, trains ? "inference" : "training",
        trains ? "training" : "inference",
        other->counterpart.empty() ? "'llmcalc list software' lists the alternatives" : "use " + other->counterpart));
}

Count vocabulary_multiple(const Request& r) {
  if (r.software) return r.software->vocabulary_multiple;
  return r.without_software || has_stated_efficiency(r) ? 1 : load_software(usual_software(r)).vocabulary_multiple;
}

Request for_training(Request r) {
  r.layout.vocabulary_multiple = vocabulary_multiple(r);
  if (r.software && r.hardware)
    r.hardware->cluster.device.achieved =
        training_rates(training_estimator().parameters, *r.hardware, stack_of(*r.software, r.model.arch, r.plan));
  return r;
}

bool has_run_of_engine(const Request& r) {
  return r.engine && r.hardware && r.hardware->served && r.hardware->served->engine == r.engine->name;
}

Achieved achieved_in_inference(const InferenceParameters& p, const Request& r) {
  Achieved a = inference_rates(p, *r.hardware, *r.engine->inference, r.plan);
  if (!has_run_of_engine(r)) return a;
  const ServedRun& run = *r.hardware->served;
  a.pace = {.prompt = paced_by(run.prompt.value_or(1)), .decode = paced_by(run.decode.value_or(1))};
  return a;
}

Request for_inference(Request r) {
  if (has_engine_memory(r) && !r.gave("--memory-utilization")) r.plan.memory_utilization = serving_utilization(r);
  if (r.engine && r.hardware)
    r.hardware->cluster.device.achieved = achieved_in_inference(inference_estimator().parameters, r);
  settle_host_rates(r);
  return r;
}

void scale_peaks(HardwareCard& card, double times) {
  for (FlopsPerSecond& peak : card.cluster.device.peaks) peak = times * peak;
  if (!card.measured) return;
  Achieved& a = card.measured->rates;
  for (auto* cores : {&a.flash, &a.naive, &a.plain})
    for (CoreRates& c : *cores) c = {times * c.forward, times * c.backward};
}

}  // namespace llmcalc
