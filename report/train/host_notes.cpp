#include "report/train/host_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/answer/stages.hpp"
#include "calc/infer.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/train/stages.hpp"
#include "text/format.hpp"

namespace llmcalc {

Bytes most_on_host(const Request& r) {
  if (!r.plan.offload.any()) return {};
  return r.has(part::training) ? stages_of(r).most_on_host() : inference_memory(r.model.arch, r.plan, r.layout).host;
}

Note host_memory_note(const Request& r, Bytes per_gpu) {
  const Cluster& c = r.hardware->cluster;
  if (per_gpu == Bytes() || c.device.host.capacity > Bytes()) return {};
  const Count gpus = c.levels.empty() ? 1 : std::min(c.levels[0].ranks, devices(r.layout));
  const std::string of_node = gpus > 1 ? fmt::format(", {} in a node of {}", bytes_text(gpus * per_gpu), gpus) : "";
  return {"host_memory_unchecked",
          fmt::format(
              "offload needs {} of host memory per GPU{}; the hardware file of {} defines no host capacity (\"host\": "
              "{{\"capacity\": ...}}), so the fit on the host is not checked",
              bytes_text(per_gpu), of_node, r.hardware->name)};
}

Note host_updates_note(const Request& r) {
  const bool updates = r.plan.offload.optimizer.numerator > 0 && r.has(part::training);
  if (!updates || r.hardware->cluster.device.host.memory.value > 0) return {};
  return {"host_bandwidth_unknown", fmt::format("the host memory bandwidth of {} is unknown: optimizer updates on the "
                                                "host count as 0 s; set it in a hardware "
                                                "file as \"host\": {{\"memory\": ...}}",
                                                r.hardware->name)};
}

}  // namespace llmcalc
