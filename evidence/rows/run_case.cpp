#include "evidence/rows/run_case.hpp"

#include <fmt/format.h>

#include "evidence/names/inference_stack.hpp"
#include "presets/estimators/engine_memory_table.hpp"

namespace llmcalc {

void settle_run(RunCase& c) {
  c.stack = inference_stack(c.engine);
  const EngineHost host{minor_version(c.engine.version), ranks(c.layout, Group::tensor), c.on.hardware};
  const Bytes granted = granted_memory(visible_memory(c.on.hardware), c.plan.memory_utilization);
  c.memory = engine_memory(c.arch, c.plan, c.layout, granted, c.limits, engine_terms(host, c.arch, c.plan, c.layout));
  if (c.memory.blocks == 0)
    c.skip = fmt::format("{} leaves no memory for a KV cache on {}", c.head.model, c.on.hardware.title);
}

RunCase on_device(RunCase c, const HardwareCard& device) {
  c.on = {.hardware = device, .like = device.name};
  if (c.cluster().device.peak(c.plan.precision).value <= 0) c.plan.precision = c.plan.working;
  if (c.skip.empty()) settle_run(c);
  return c;
}

}  // namespace llmcalc
