#include "report/conclusion.hpp"

#include <fmt/format.h>

#include <array>

#include "report/question.hpp"
#include "report/report.hpp"

namespace llmcalc {
namespace {

double d(Bytes b) { return static_cast<double>(b.value); }

std::string gib(Bytes b) { return human_text(b.value, Unit::bytes); }

/// The largest part of a bill, in words.
std::string largest(const Memory& m) {
  const std::array<std::pair<Bytes, const char*>, 7> parts{{{m.weights, "weights"},
                                                            {m.gradients, "gradients"},
                                                            {m.optimizer, "optimizer state"},
                                                            {m.activations, "activations"},
                                                            {m.logits, "logits"},
                                                            {m.kv_cache, "KV cache"},
                                                            {m.workspace, "workspace"}}};
  std::pair<Bytes, const char*> most = parts[0];
  for (const auto& p : parts)
    if (p.first > most.first) most = p;
  return fmt::format("{} of it {}", gib(most.first), most.second);
}

std::string fit_sentence(const Request& r, const Memory& m, double utilization, std::string_view what) {
  if (!r.hardware) return fmt::format("{} needs {} per GPU, {}.", what, gib(m.peak), largest(m));
  const double room = utilization * d(r.hardware->cluster.device.memory);
  if (d(m.peak) <= room)
    return fmt::format("{} fits: {} of {} per GPU.", what, gib(m.peak), gib(r.hardware->cluster.device.memory));
  return fmt::format("{} does not fit: {} needed per GPU, {} present, {}.", what, gib(m.peak),
                     gib(r.hardware->cluster.device.memory), largest(m));
}

}  // namespace

std::string training_memory_conclusion(const Request& r) {
  return fit_sentence(r, training_memory(r.model.arch, r.plan, r.layout, process_bytes(r)), 1, "Training");
}

std::string inference_memory_conclusion(const Request& r) {
  return fit_sentence(r, inference_memory(r.model.arch, r.plan, r.layout, process_bytes(r)), r.plan.memory_utilization,
                      "Inference");
}

std::string train_conclusion(const Request& r, const TrainEstimate& e) {
  const Time all = e.estimate.all();
  return fmt::format(
      "{} {} per step, MFU {}, bound by {}. {}", e.estimated ? "About" : "At best",
      human_text(e.estimate.total().value, Unit::seconds),
      human_text(model_utilization(e, e.estimate, r.plan, r.layout, r.hardware->cluster.device), Unit::ratio),
      bound_names[static_cast<std::size_t>(bound(all))], fit_sentence(r, e.memory, 1, "The step"));
}

std::string infer_conclusion(const Request& r, const InferEstimate& e) {
  const double step = e.middle.estimate.total().value;
  return fmt::format("{} {} to the first token, then {} per token ({}, bound by {}). {}",
                     e.estimated ? "About" : "At best", human_text(e.estimate.first_token.value, Unit::seconds),
                     human_text(step, Unit::seconds),
                     human_text(static_cast<double>(r.plan.batch) / step, Unit::tokens_per_second),
                     bound_names[static_cast<std::size_t>(bound(e.middle.estimate))],
                     fit_sentence(r, e.memory, r.plan.memory_utilization, "It"));
}

}  // namespace llmcalc
