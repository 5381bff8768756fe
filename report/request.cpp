#include "report/request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calc/roofline.hpp"
#include "calc/run.hpp"
#include "calc/train.hpp"
#include "presets/weight_formats.hpp"
#include "report/options.hpp"
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

/// As the checkpoint stores them, unless another precision is asked for and they are not quantised; the reference
/// transformer, whose precision is given by its use, keeps them in that.
WeightFormats default_weights(const Request& r) {
  const std::optional<WeightFormats>& stored = r.model.weights;
  if (stored && !r.usual_precision && !(r.gave("--precision") && stored->plain())) return *stored;
  WeightFormats w = working_format(r.plan);
  for (std::size_t c = 0; c < component_count; ++c)
    if (is_narrowed(static_cast<Component>(c))) w[static_cast<Component>(c)] = r.plan.precision;
  return w;
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

/// A measured throughput at which the devices would execute more FLOPs than they can is a mistake.
void check_measured(const Request& r) {
  const Plan& p = r.plan;
  const double tokens = static_cast<double>(mul(p.micro_batch, p.seq));
  const double executed = static_cast<double>(training_flops(r.model.arch, p).executed.value) / tokens;
  const double rate = *r.run.measured_tokens_per_s;
  const double share = mfu(executed, rate, devices(r.layout), r.hardware->cluster.device.peak(p.precision));
  if (share > 1)
    throw InputError(
        fmt::format("--measured-tokens-per-s {:g} is {:.4g} % of what {} {} can compute in {}; check it, --gpus and "
                    "--precision",
                    rate, 100 * share, devices(r.layout), r.hardware->name, p.precision.name()));
}

/// A checkpoint's own formats are for inference; training takes what training_weights says.
void check_weights(const Request& r) {
  const WeightFormats& w = r.plan.weight_precision;
  if (w.plain() || w == r.model.weights) return;
  throw InputError(
      fmt::format("--weight-precision {} is for inference; training stores weights in fp32, fp16, bf16 or fp8",
                  weight_formats_text(w)));
}

/// Replicas of the model on the given GPUs.
Count replicas_on(Count available, const Layout& layout) {
  const Count replica = replica_devices(layout);
  if (available % replica != 0)
    throw InputError(
        fmt::format("--gpus {} is not a multiple of the {} GPUs that hold the model once (--tp); give a "
                    "multiple of {}",
                    available, replica, replica));
  return available / replica;
}

/// An option of parts that this answer does not have.
void refuse_other_part(const Request& r, const Option& o) {
  const bool trains = r.has(part::training), infers = r.has(part::inference);
  if (trains == infers) throw InputError(fmt::format("{} changes nothing in this answer; leave it out", o.flag));
  const std::string_view here = trains ? "training" : "inference", there = trains ? "inference" : "training";
  if (!o.instead.empty()) throw InputError(fmt::format("{} is for {}; for {} use {}", o.flag, there, here, o.instead));
  throw InputError(fmt::format("{} is for {}, and this is about {}; leave it out", o.flag, there, here));
}

/// The condition for an option to have an effect, if model and plan leave it without one.
std::string_view lacking(const Request& r, const Option& o) {
  const Arch& a = r.model.arch;
  if (o.flag == "--mla" && a.attention != AttentionKind::latent)
    return "is for latent attention, which this model does not have; leave it out";
  if (o.flag == "--glu-store" && a.mlp != MlpKind::gated)
    return "is for gated MLPs, which this model does not have; leave it out";
  if (o.flag == "--softmax-store" && r.plan.attention == AttentionImpl::flash)
    return "is about the scores that naive attention keeps; add --attention naive";
  return "";
}

}  // namespace

bool Request::gave(std::string_view option) const {
  return std::find(given.begin(), given.end(), option) != given.end();
}

void settle(Request& r) {
  Plan& p = r.plan;
  const Arch& a = r.model.arch;
  if (r.train && r.infer) r.train = r.infer = false;
  if (r.train) r.parts &= ~part::of_inference;
  if (r.infer) r.parts &= ~part::of_training;
  if (!r.gave("--seq")) p.seq = std::min(a.context, r.usual_seq);
  p.working = default_precision(r);
  if (!r.gave("--precision")) p.precision = r.usual_precision.value_or(p.working);
  if (!r.gave("--weight-precision")) p.weight_precision = default_weights(r);
  if (!r.gave("--kv-precision")) p.kv_precision = working_format(p);
  if (!r.gave("--state-precision"))
    p.state_precision = p.master || p.precision.format().element_bits >= 32 ? dtypes::fp32 : working_format(p);
  if (r.gpus) r.layout.dp = replicas_on(*r.gpus, r.layout);
  if (!r.gave("--global-batch")) p.global_batch = mul(p.micro_batch, replicas(r.layout));
  if (!r.gave("--prompt") && a.position == Position::learned && a.position_rows < p.prompt + p.generate)
    p.prompt = std::max<Count>(1, a.position_rows - p.generate);
}

Bytes process_bytes(const Request& r) { return r.hardware ? r.hardware->cluster.device.achieved.overhead : Bytes(); }

void check(const Request& r, Parts parts) {
  const Plan& p = r.plan;
  check_layout(r);
  if ((parts & (part::training | part::formulas)) != 0) check_length(r, p.seq, "--seq");
  if ((parts & part::training) != 0) {
    check_batch(r);
    check_weights(r);
  }
  if ((parts & part::inference) != 0) check_length(r, add(p.prompt, p.generate), "--prompt plus --generate");
  if ((parts & part::time) != 0 && r.hardware) check_hardware(r);
  if ((parts & part::run) != 0 && r.hardware && r.run.measured_tokens_per_s) check_measured(r);
}

void refuse_ignored(const Request& r) {
  for (const std::string_view flag : r.given) {
    const Option& o = *find_option(flag);
    if (!r.has(o.parts)) refuse_other_part(r, o);
    if (!o.needs.empty() && !r.gave(o.needs))
      throw InputError(fmt::format("{} changes nothing without {}; add it, or leave {} out", flag, o.needs, flag));
    if (const std::string_view why = lacking(r, o); !why.empty()) throw InputError(fmt::format("{} {}", flag, why));
  }
}

}  // namespace llmcalc
