#include "ask/answer/remedy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/answer/process_estimate.hpp"
#include "ask/request/offload.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/software.hpp"

namespace llmcalc {
namespace {

/// An option and its value.
struct SetOption {
  std::string_view flag;
  std::string value;
};

/// The option that makes the change.
SetOption changed_option(const Remedied& m) {
  switch (m.remedy) {
    case Remedy::selective_recompute:
      return {"--recompute", "selective"};
    case Remedy::full_recompute:
      return {"--recompute", "full"};
    case Remedy::smaller_micro_batch:
      return {"--micro-batch", fmt::format("{}", m.plan.micro_batch)};
    case Remedy::more_tensor_ranks:
      return {"--tp", fmt::format("{}", ranks(m.layout, Group::tensor))};
    case Remedy::more_stages:
      return {"--pp", fmt::format("{}", ranks(m.layout, Group::pipeline))};
    case Remedy::more_context_ranks:
      return {"--cp", fmt::format("{}", ranks(m.layout, Group::context))};
    case Remedy::more_expert_ranks:
      return {"--ep", fmt::format("{}", ranks(m.layout, Group::expert))};
    case Remedy::more_sharding:
      return {"--zero", fmt::format("{}", static_cast<int>(m.layout.zero))};
    case Remedy::adam8bit:
      return {"--optimizer", "adam8bit"};
    case Remedy::bf16_gradients:
      return {"--gradient-bytes", "2"};
    case Remedy::offloaded_activations:
    case Remedy::offloaded_optimizer:
    case Remedy::offloaded_weights:
      return {"--offload", offload_text(m.plan.offload)};
  }
  return {};
}

/// The request with the changed plan; absent if no software can launch it.
std::optional<Request> typed(const Request& r, const Remedied& m) {
  Request one = r;
  one.plan = m.plan;
  one.layout = m.layout;
  if (!is_launchable(one)) return std::nullopt;
  if (!r.software || r.gave("--software")) return one;
  one.software.reset();
  choose_software(one);
  return for_training(one);
}

/// The option that makes the change, "--tp 4", and other options that must change with it.
std::string remedy_option(const Request& r, const Remedied& m, const SetOption& changed) {
  std::string s = fmt::format("{} {}", changed.flag, changed.value);
  if (r.gave("--dp") && m.layout.dp != r.layout.dp) s += fmt::format(" --dp {}", m.layout.dp);
  if (r.gave("--gpus") && devices(m.layout) != devices(r.layout)) s += fmt::format(" --gpus {}", devices(m.layout));
  const bool batch_follows = !r.gave("--global-batch");
  if (batch_follows && m.plan.global_batch != mul(m.plan.micro_batch, replicas(m.layout)))
    s += fmt::format(" --global-batch {}", m.plan.global_batch);
  return s;
}

double device_seconds(const TypedRemedy& t) {
  return static_cast<double>(devices(t.request.layout)) * t.change.step.value;
}

}  // namespace

std::vector<TypedRemedy> typed_remedies(const Request& r) {
  std::vector<TypedRemedy> all;
  for (const Remedied& m : remedies({r.model.arch, r.plan, r.layout, r.hardware->cluster})) {
    std::optional<Request> changed = typed(r, m);
    if (!changed) continue;
    const SetOption option = changed_option(m);
    TypedRemedy t{.change = m,
                  .request = *std::move(changed),
                  .key = find_option(option.flag)->key(),
                  .option = remedy_option(r, m, option),
                  .gpus = devices(m.layout),
                  .changes_gpus = devices(m.layout) != devices(r.layout)};
    const Request& one = t.request;
    const TrainEstimate e = train(one.model.arch, one.plan, one.layout, one.hardware->cluster);
    t.change.step = e.estimate.total();
    t.change.peak = e.memory.peak;
    if (lacking({one.model.arch, one.plan, one.layout, one.hardware->cluster}) > Bytes()) continue;
    const auto process = process_estimate(one, e.memory.peak);
    if (!process || fits(*process)) all.push_back(std::move(t));
  }
  std::stable_sort(all.begin(), all.end(), [](const TypedRemedy& a, const TypedRemedy& b) {
    return device_seconds(a) != device_seconds(b) ? device_seconds(a) < device_seconds(b)
                                                  : a.change.peak < b.change.peak;
  });
  return all;
}

}  // namespace llmcalc
