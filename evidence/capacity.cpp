#include "evidence/capacity.hpp"

#include <fmt/format.h>

#include "calc/memory.hpp"

namespace llmcalc {

namespace {

constexpr double bytes_per_gib = 0x1p30;

bool is_beyond(double bytes, double memory) { return bytes > most_of_memory * memory; }

}  // namespace

std::string weights_beyond_memory(const InferenceCase& c) {
  const auto stages = static_cast<double>(ranks(c.layout, Group::pipeline));
  const double weights = static_cast<double>(weights_bytes(c.arch, c.plan, c.layout).value) / stages;
  const auto memory = static_cast<double>(c.cluster().device.memory.value);
  if (!is_beyond(weights, memory)) return "";
  return fmt::format(
      "weights of {:.4g} GiB per device exceed its {:.4g} GiB, and the location of the rest is not stated",
      weights / bytes_per_gib, memory / bytes_per_gib);
}

std::string states_beyond_memory(const TrainingCase& c) {
  const auto stages = static_cast<double>(ranks(c.layout, Group::pipeline));
  const Memory m = training_memory(c.arch, c.plan, c.layout);
  const double states = static_cast<double>((m.weights + m.gradients + m.optimizer).value) / stages;
  const auto memory = static_cast<double>(c.cluster().device.memory.value);
  if (!is_beyond(states, memory)) return "";
  return fmt::format("devices that hold weights, gradients and optimizer states, {:.4g} GiB on each: they have {:.4g}",
                     states / bytes_per_gib, memory / bytes_per_gib);
}

}  // namespace llmcalc
