#include "evidence/row_subject.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "evidence/names/inference_stack.hpp"
#include "evidence/names/training_stack.hpp"

namespace llmcalc {

namespace {

using Phrases = std::vector<std::string>;

std::string_view data_kind(Zero z) {
  if (z == Zero::weights) return "fsdp";
  return z == Zero::none ? "dp" : "zero";
}

/// Names of the kinds of parallelism that have more than one rank.
std::string kinds_of(const Layout& l) {
  Phrases kinds;
  for (const auto& [kind, n] : {std::pair{"tp", l.tp}, {"cp", l.cp}, {"ep", l.ep}, {"pp", l.pp}})
    if (n > 1) kinds.emplace_back(kind);
  if (l.dp > 1) kinds.emplace_back(data_kind(l.zero));
  return kinds.empty() ? "none" : fmt::format("{}", fmt::join(kinds, "+"));
}

std::string ranks_of(const Layout& l) {
  Phrases all;
  if (l.tp > 1) all.push_back(fmt::format("tp {}{}", l.tp, l.sp ? " sp" : ""));
  if (l.cp > 1) all.push_back(fmt::format("cp {}", l.cp));
  if (l.ep > 1) all.push_back(fmt::format("ep {}", l.ep));
  if (l.pp > 1) all.push_back(fmt::format("pp {}{}", l.pp, l.chunks > 1 ? fmt::format(" x {}", l.chunks) : ""));
  if (l.pp > 1) all.emplace_back(name(l.schedule));
  if (l.dp > 1) all.push_back(fmt::format("dp {}", l.dp));
  if (l.dp > 1 && l.zero != Zero::none) all.push_back(fmt::format("ZeRO {}", static_cast<int>(l.zero)));
  return all.empty() ? "one device" : fmt::format("{}", fmt::join(all, ", "));
}

/// Recomputation, as the row states it.
std::string repeated(const Recomputed& r) {
  if (r.layer_step > 1) return fmt::format("every {}th layer", r.layer_step);
  if (r.layers) return r.every_layer() ? "every layer" : "some layers";
  Phrases parts;
  for (const auto& [part, is] : {std::pair{"attention's core", r.core},
                                 {"norms", r.norms},
                                 {"activations", r.activations},
                                 {"MLPs", r.mlp},
                                 {"every second product", r.alternate_products}})
    if (is) parts.emplace_back(part);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string class_of(const InferenceCase& c, FigureKind quantity) {
  if (const auto kind = inference_class(c, quantity)) return std::string(name(*kind));
  if (quantity == FigureKind::power) return "power";
  return quantity == FigureKind::layer_time || quantity == FigureKind::utilization ? "part of a pass" : "memory";
}

std::string_view spoken(BatchKind k) {
  switch (k) {
    case BatchKind::fixed:
      return "static batch";
    case BatchKind::concurrency:
      return "clients";
    case BatchKind::max_inflight:
      return "in flight";
    case BatchKind::capacity:
      return "capacity, batch";
    case BatchKind::throughput:
      return "throughput, batch";
  }
  return "batch";
}

std::string shown_name(const std::string& name, const Arch& arch) {
  return name.empty() ? fmt::format("{} layers of {}", arch.layers, arch.hidden) : name;
}

/// Format of the blocks' weights. If the plan uses a substitute, returns the row's name for the original format.
std::string weights_of_blocks(const InferenceCase& c) {
  if (!c.weights_name.empty()) return c.weights_name;
  return std::string(c.plan.weight_precision[c.arch.has_experts() ? Component::experts : Component::mlp].name());
}

}  // namespace

RowSubject subject_of(const TrainingCase& c) {
  return {.family = c.head.family,
          .model = shown_name(c.head.model, c.arch),
          .gpu = c.on.hardware.name,
          .gpus = c.head.gpus,
          .parallelism = kinds_of(c.layout),
          .layout = ranks_of(c.layout),
          .batch = fmt::format("micro-batch {} of {}, {} tokens", c.plan.micro_batch, c.plan.global_batch, c.plan.seq),
          .precision = std::string(c.plan.precision.name()),
          .recompute = repeated(c.recomputed),
          .software = c.stack.name,
          .profile = "",
          .kind = std::string(name(estimate_class(c)))};
}

RowSubject subject_of(const InferenceCase& c, const Figure& figure) {
  return {.family = c.head.family,
          .model = shown_name(c.head.model, c.arch),
          .gpu = c.on.hardware.name,
          .gpus = c.head.gpus,
          .parallelism = kinds_of(c.layout),
          .layout = ranks_of(c.layout),
          .batch = fmt::format("{} {:g}, {:g} + {:g} tokens", spoken(c.kind), c.batch, c.prompt, c.generate),
          .precision = weights_of_blocks(c),
          .recompute = "",
          .software = c.engine.name,
          .profile = inference_profile(c.engine),
          .kind = class_of(c, figure.quantity)};
}

RowSubject subject_of(const RunCase& c) {
  return {.family = c.head.family,
          .model = c.head.model,
          .gpu = c.on.hardware.name,
          .gpus = devices(c.layout),
          .parallelism = kinds_of(c.layout),
          .layout = ranks_of(c.layout),
          .batch = fmt::format("{} requests", c.requests.size()),
          .precision = std::string(c.plan.weight_precision[Component::mlp].name()),
          .recompute = "",
          .software = c.engine.name,
          .profile = inference_profile(c.engine),
          .kind = c.input_assumed ? std::string(name(InferenceClass::assumed)) : "recorded run"};
}

}  // namespace llmcalc
