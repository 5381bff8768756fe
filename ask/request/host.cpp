#include "ask/request/host.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/request/server.hpp"
#include "ask/request/software.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Whether the engine decodes on the host.
bool decodes_on_host(const Request& r) {
  return r.engine && r.engine->computes_on_host && !r.has(part::training) && r.plan.offload.any();
}

const HardwareCard& usual_host() {
  static const HardwareCard card = load_hardware("desktop-ddr5-5600");
  return card;
}

/// The highest peak among the formats in which a processor multiplies low-bit weights.
FlopsPerSecond matmul_peak(const Device& d) {
  return std::max({d.peak(*dtype("int8")), d.peak(dtypes::bf16), d.peak(dtypes::fp32)});
}

/// Time to start an operator on the host: a copy of its input over the link, and a barrier of its threads. Assumed.
constexpr Seconds start_on_host(20e-6);

constexpr double giga = 1e9;

/// A copy from pageable memory is staged: each byte is read, written and reread in host memory.
constexpr double staged_accesses = 3;

}  // namespace

const HardwareCard* host_card(const Request& r) {
  if (r.host) return &*r.host;
  return r.hardware->host.memory.value > 0 ? nullptr : &usual_host();
}

bool has_assumed_host(const Request& r) { return decodes_on_host(r) && !r.host; }

void settle_host(Request& r) {
  if (!r.hardware) return;
  HostSide& side = r.hardware->cluster.device.host;
  side = r.hardware->host;
  if (r.offload_rate) side.link = side.link.value > 0 ? std::min(side.link, *r.offload_rate) : *r.offload_rate;
  side.computes = decodes_on_host(r);
  const double devices = real(replica_devices(r.layout));
  if (const HardwareCard* card = host_card(r); card != nullptr && (r.host || side.computes)) {
    side.memory = BytesPerSecond(card->cluster.device.bandwidth.value / devices);
    side.compute = FlopsPerSecond(matmul_peak(card->cluster.device).value / devices);
  }
  if (side.computes) side.start = start_on_host;
  if (r.host_memory) side.capacity = Bytes(r.host_memory->value / replica_devices(r.layout));
}

void settle_host_rates(Request& r) {
  if (!r.hardware || !r.engine || !r.plan.offload.any()) return;
  Device& device = r.hardware->cluster.device;
  Offload& offload = r.plan.offload;
  if (!has_traffic(r.serving) && has_engine_memory(r))
    offload.passes = std::max<Count>(1, ceil_div(mul(r.plan.batch, r.plan.prompt), serving_limits(r).pass_tokens));
  if (!device.host.computes) return;
  const HardwareCard* card = host_card(r);
  const Achieved own = inference_rates(inference_estimator().parameters, card != nullptr ? *card : usual_host(),
                                       *r.engine->inference, r.plan);
  device.achieved.host_memory = own.memory;
  device.achieved.host_compute = Device::of(own.matmul, dtypes::bf16);
  const double staged = own.memory * device.host.memory.value / staged_accesses;
  device.achieved.host_link = std::min(1.0, staged / device.host.link.value);
}

void check_host(const Request& r) {
  if (r.host && !is_processor(*r.host))
    throw InputError(
        fmt::format("--host {}: expected a processor, for example amd-epyc-9654; 'llmcalc list hardware' "
                    "shows them",
                    r.host->name));
  if (!r.offload_rate) return;
  constexpr double slowest = 1e6;
  if (r.offload_rate->value < slowest)
    throw InputError(
        fmt::format("--offload-bandwidth {0:g}: {0:g} bytes per second is slower than any drive; add the "
                    "unit, as in '{0:g} GB/s'",
                    r.offload_rate->value));
  if (!r.hardware || r.hardware->host.link.value <= 0) return;
  if (*r.offload_rate > r.hardware->host.link)
    throw InputError(
        fmt::format("--offload-bandwidth {:g} GB/s: the link of {} to its host has only {:g} GB/s; set the "
                    "host's memory with --host CPU",
                    r.offload_rate->value / giga, r.hardware->name, r.hardware->host.link.value / giga));
}

}  // namespace llmcalc
