#include "ask/request/capability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/request/software.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/load.hpp"

namespace llmcalc {
namespace {

std::string device_word(const HardwareCard& card) {
  if (card.vendor == "Google") return "tpu";
  if (card.vendor == "Huawei") return "ascend";
  if (card.vendor == "Apple") return "apple";
  switch (chip_of(card)) {
    case Chip::neuron:
      return "neuron";
    case Chip::gaudi:
      return "gaudi";
    default:
      break;
  }
  if (is_processor(card)) return "cpu";
  if (card.vendor == "AMD") return "amd";
  if (card.vendor == "Intel") return "intel";
  return card.vendor == "NVIDIA" ? "nvidia" : "";
}

class Demands {
 public:
  explicit Demands(const Request& r) : r_(r) {
    if (r.hardware)
      if (const std::string word = device_word(*r.hardware); !word.empty()) add(Capability::devices, word);
  }

  void add(Capability c, std::string_view word) { all_.push_back({c, std::string(word)}); }
  /// Adds a demand if `wanted`. In a search, adds it only if the user set the option.
  void option(std::string_view flag, bool wanted, Capability c, std::string_view word) {
    if (wanted && (!r_.searches_layouts || r_.gave(flag))) add(c, word);
  }
  void degree(std::string_view flag, std::string_view word, Count n) {
    option(flag, n > 1, Capability::parallelism, word);
  }
  std::vector<Demand> take() { return std::move(all_); }

 private:
  const Request& r_;
  std::vector<Demand> all_;
};

void add_offload(Demands& d, const Request& r, bool trains) {
  const Offload& o = r.plan.offload;
  const auto add = [&](const Ratio& part, std::string_view word) {
    if (part.numerator > 0) d.add(Capability::offload, word);
  };
  if (trains) {
    add(o.activations, "activations");
    add(o.optimizer, "optimizer");
  } else {
    add(o.experts, "experts");
    add(o.cache, "kv");
  }
  add(o.weights, "weights");
}

void add_sharding(Demands& d, const Request& r) {
  const Layout& l = r.layout;
  const std::string_view flag = r.gave("--fsdp") ? "--fsdp" : "--zero";
  const std::string stage = std::to_string(static_cast<int>(l.zero));
  const bool shards = l.zero != Zero::none;
  d.option(flag, shards, Capability::zero, stage);
  d.option("--pp", shards && l.pp > 1, Capability::zero_in_pipeline, stage);
  d.option("--hsdp", l.hsdp > 0, Capability::parallelism, "hsdp");
}

void add_adapters(Demands& d, const Request& r) {
  if (!trains_adapters(r.plan)) return;
  d.add(Capability::adapters, "lora");
  if (r.gave("--base-precision") && r.plan.base_precision[Component::mlp].format().element_bits < 16)
    d.add(Capability::adapters, "qlora");
}

constexpr std::array trainers{"torchtitan", "megatron-lm", "zero-bubble", "deepseek-dualpipe",  "deepspeed",
                              "torch-fsdp", "maxtext",     "mlx-lm",      "neuronx-distributed"};
constexpr std::array engines{"vllm", "llama.cpp", "sglang", "transformers", "mlx-lm"};

template <typename List>
std::string_view first_capable(std::string_view usual, const List& others, const std::vector<Demand>& demands) {
  if (!unmet(load_software(usual), demands)) return usual;
  const auto found = std::find_if(others.begin(), others.end(), [&](const char* name) {
    return find_builtin(builtin_software(), name) != nullptr && !unmet(load_software(name), demands);
  });
  return found == others.end() ? "" : *found;
}

}  // namespace

std::vector<Demand> training_demands(const Request& r) {
  const Layout& l = r.layout;
  Demands d(r);
  d.degree("--tp", "tp", l.tp);
  d.option("--sp", l.sp && l.tp > 1, Capability::parallelism, "sp");
  d.degree("--cp", "cp", l.cp);
  d.option("--cp", l.cp > 1, Capability::context, name(l.context_method));
  d.degree("--ep", "ep", l.ep);
  d.degree("--pp", "pp", l.pp);
  d.option("--schedule", l.pp > 1 || r.searches_layouts, Capability::schedules, name(l.schedule));
  add_sharding(d, r);
  add_offload(d, r, true);
  d.add(Capability::optimizers, name(r.plan.optimizer));
  add_adapters(d, r);
  return d.take();
}

std::vector<Demand> inference_demands(const Request& r) {
  Demands d(r);
  d.degree("--tp", "tp", r.layout.tp);
  d.degree("--ep", "ep", r.layout.ep);
  d.degree("--pp", "pp", r.layout.pp);
  d.degree("--dp", "dp", r.layout.dp);
  d.degree("--dcp", "dcp", r.layout.dcp);
  add_offload(d, r, false);
  if (r.serving.pools) d.add(Capability::serving, "pools");
  if (r.gave("--adapters")) d.add(Capability::serving, "adapters");
  if (r.serving.preemption == Preemption::swap) d.add(Capability::serving, "swap");
  if (!r.serving.draft_model.empty()) d.add(Capability::drafts, "model");
  return d.take();
}

std::optional<Demand> unmet(const SoftwareCard& software, const std::vector<Demand>& demands) {
  const auto found = std::find_if(demands.begin(), demands.end(),
                                  [&](const Demand& d) { return !software.capabilities.has(d.capability, d.word); });
  return found == demands.end() ? std::nullopt : std::optional(*found);
}

std::string unmet_text(const SoftwareCard& software, const Demand& d) {
  std::string has;
  for (const std::string& w : *software.capabilities.of(d.capability))
    has += (has.empty() ? "" : ", ") + capability_text(d.capability, w);
  const std::string wanted = capability_text(d.capability, d.word);
  if (d.capability == Capability::devices)
    return fmt::format("{} does not run on {} (it runs on {})", software.word, wanted, has);
  return fmt::format("{} has no {}{}", software.word, wanted, has.empty() ? "" : fmt::format(" (it has {})", has));
}

std::string_view capable_trainer(const Request& r, std::string_view usual) {
  return first_capable(usual, trainers, training_demands(r));
}
std::string_view capable_engine(const Request& r, std::string_view usual) {
  return first_capable(usual, engines, inference_demands(r));
}

}  // namespace llmcalc
