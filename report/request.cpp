#include "report/request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calc/roofline.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// The first of bf16, fp16, fp32 that the hardware multiplies in; bf16 without hardware.
DType default_precision(const Request& r) {
  if (!r.hardware) return dtypes::bf16;
  for (const DType t : {dtypes::bf16, dtypes::fp16, dtypes::fp32})
    if (r.hardware->cluster.device.peak(t).value > 0) return t;
  return dtypes::bf16;
}

std::string divisors(Count n) {
  std::string s;
  for (Count d = 1; d <= n && d <= 1024; ++d)
    if (n % d == 0) s += (s.empty() ? "" : ", ") + fmt::format("{}", d);
  return s;
}

void check_layout(const Request& r) {
  switch (flaw(r.model.arch, r.layout)) {
    case LayoutFlaw::none:
      return;
    case LayoutFlaw::heads: {
      const Count heads = r.model.arch.heads;
      throw InputError(fmt::format("--tp {} does not divide the {} attention heads of {}; {} do",
                                   ranks(r.layout, Group::tensor), heads, r.model.name, divisors(heads)));
    }
    case LayoutFlaw::sequence_of_one:
      throw InputError("--sp needs several tensor-parallel ranks; add --tp, or leave it out");
  }
}

void check_length(const Request& r, Count tokens, std::string_view option) {
  const Arch& a = r.model.arch;
  if (a.position == Position::learned && tokens > a.position_rows)
    throw InputError(fmt::format("{} {} is longer than the {} learned positions of {}; give at most {}", option, tokens,
                                 a.position_rows, r.model.name, a.position_rows));
}

/// The sequences of a step are whole micro-batches, as many on every replica.
void check_batch(const Request& r) {
  const Plan& p = r.plan;
  const Count n = replicas(r.layout);
  if (p.global_batch % mul(p.micro_batch, n) == 0) return;
  if (n == 1)
    throw InputError(
        fmt::format("--global-batch {} is not a multiple of --micro-batch {}; every optimizer step runs whole "
                    "micro-batches",
                    p.global_batch, p.micro_batch));
  throw InputError(fmt::format(
      "--global-batch {} is not a multiple of --micro-batch {} x {} replicas of the model; it is that of the "
      "whole run, and every replica runs whole micro-batches",
      p.global_batch, p.micro_batch, n));
}

void check_hardware(const Request& r) {
  const Plan& p = r.plan;
  const HardwareCard& h = *r.hardware;
  if (h.cluster.device.peak(p.precision).value <= 0) {
    std::string known;
    for (std::size_t i = 0; i < peak_count; ++i)
      if (h.cluster.device.peaks[i].value > 0) known += (known.empty() ? "" : ", ") + std::string(peak_names[i]);
    throw InputError(fmt::format("{} has no {} matmul peak; --precision can be {}", h.name, p.precision.name(), known));
  }
  const Count together = ranks(r.layout, Group::tensor);
  if (together > 1 && group_link(h.cluster, r.layout, Group::tensor).bandwidth.value <= 0)
    throw InputError(
        fmt::format("{} states no link that joins {} devices; lower --tp, or give a hardware file that "
                    "states one ('llmcalc show {}' prints a start)",
                    h.name, together, h.name));
}

}  // namespace

namespace {
/// Replicas of the model that so many GPUs hold.
Count replicas_on(Count gpus, const Layout& layout) {
  const Count one = replica_devices(layout);
  if (gpus % one != 0)
    throw InputError(
        fmt::format("--gpus {} is not a multiple of the {} GPUs that hold the model once (--tp); give a "
                    "multiple of {}",
                    gpus, one, one));
  return gpus / one;
}
}  // namespace

void settle(Request& r, const Given& given) {
  Plan& p = r.plan;
  if (!given.seq) p.seq = std::min(r.model.arch.context, r.usual_seq);
  if (!given.precision) p.precision = r.usual_precision.value_or(default_precision(r));
  if (!given.weight_precision) p.weight_precision = p.precision;
  if (!given.kv_precision) p.kv_precision = p.precision;
  if (!given.state_precision)
    p.state_precision = p.master || p.precision.format().element_bits >= 32 ? dtypes::fp32 : p.precision;
  if (given.gpus) r.layout.dp = replicas_on(*given.gpus, r.layout);
  if (!given.global_batch) p.global_batch = mul(p.micro_batch, replicas(r.layout));
  const Arch& a = r.model.arch;
  if (!given.prompt && a.position == Position::learned && a.position_rows < p.prompt + p.generate)
    p.prompt = std::max<Count>(1, a.position_rows - p.generate);
}

Bytes process_bytes(const Request& r) { return r.hardware ? r.hardware->cluster.device.achieved.overhead : Bytes(); }

void check(const Request& r, const Uses& uses) {
  const Plan& p = r.plan;
  check_layout(r);
  if (uses.training) {
    check_length(r, p.seq, "--seq");
    check_batch(r);
    if (!p.weight_precision.plain())
      throw InputError(
          fmt::format("--weight-precision {} is for inference; training stores weights in fp32, fp16, bf16 "
                      "or fp8",
                      p.weight_precision.name()));
  }
  if (uses.inference) check_length(r, add(p.prompt, p.generate), "--prompt plus --generate");
  if (uses.time && r.hardware) check_hardware(r);
}

}  // namespace llmcalc
