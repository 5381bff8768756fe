#include "ask/request/settle.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/request/check/layout.hpp"
#include "ask/request/host.hpp"
#include "ask/request/nearest.hpp"
#include "ask/request/offload.hpp"
#include "ask/request/options/option_values.hpp"
#include "ask/request/software.hpp"
#include "ask/request/stack_defaults.hpp"
#include "ask/request/weight_precision.hpp"
#include "calc/pipeline/schedule.hpp"
#include "presets/formats/weight_formats.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Whether all devices run matmuls in this format.
bool has_peaks(const Request& r, DType t) {
  const auto has = [&](const HardwareCard& card) { return card.cluster.device.peak(t).value > 0; };
  return has(*r.hardware) && std::all_of(r.machine.begin(), r.machine.end(), has);
}

/// The first of bf16, fp16, fp32 in which the hardware runs matmuls; bf16 without hardware.
DType default_precision(const Request& r) {
  if (!r.hardware) return dtypes::bf16;
  for (const DType t : {dtypes::bf16, dtypes::fp16, dtypes::fp32})
    if (has_peaks(r, t)) return t;
  return dtypes::bf16;
}

/// Whether the blocks' matmuls are in the format to which the checkpoint quantizes inputs; requires a hardware peak for
/// it. All other matmuls are in 16 bits, to which weights are dequantized on the fly.
bool multiplies_as_stored(const Request& r) {
  const std::optional<DType>& stated = r.model.products;
  const bool own = stated && !r.has(part::training) && !r.gave("--weight-precision") && r.hardware;
  return own && !r.gave("--precision") && !r.usual_precision && has_peaks(r, *stated);
}

void settle_products(Request& r) {
  Plan& p = r.plan;
  p.working = default_precision(r);
  if (!r.gave("--precision")) p.precision = r.usual_precision.value_or(p.working);
  if (!multiplies_as_stored(r)) return;
  p.precision = *r.model.products;
  p.multiplied = r.model.product_parts;
}

/// The checkpoint's formats, unless the checkpoint is not quantized and the user specifies another precision. The
/// reference transformer stores weights in its working precision.
WeightFormats default_weights(const Request& r, const LowPrecision& low_precision) {
  const std::optional<WeightFormats>& stored = r.model.weights;
  if (stored && !r.usual_precision && !(r.gave("--precision") && stored->plain())) return *stored;
  WeightFormats w = working_format(r.plan);
  for (std::size_t c = 0; c < component_count; ++c)
    if (low_precision.has(static_cast<Component>(c))) w[static_cast<Component>(c)] = r.plan.precision;
  return w;
}

/// Engines load vision and audio encoders with the model, except with GGUF files, which store the encoders separately.
/// The reference transformer has no encoders.
void settle_media_encoders(Request& r) {
  const bool apart = r.engine && r.engine->gguf_weights;
  const MediaEncoders t =
      r.loads_media_encoders && !apart && !r.usual_precision ? r.model.media_encoders : MediaEncoders();
  r.plan.cut_media_encoders = t.cut_bytes();
  r.plan.media_encoders = t.bytes() - t.cut_bytes();
}

bool has_sparse_latent_attention(const Arch& a) {
  for (std::size_t i = 0; i <= a.mixers.size(); ++i)
    if (a.mixer(i).attention == AttentionKind::latent && a.mixer(i).indexer.kind == IndexerKind::lightning) return true;
  return false;
}

/// Selects cache rows with scales, if the engine stores such rows.
void settle_cache_rows(Request& r) {
  CacheFormats& cache = r.plan.kv_precision;
  cache.scaled_index =
      r.engine && r.engine->server && r.engine->server->scaled_sparse_rows && has_sparse_latent_attention(r.model.arch);
  cache.scaled_latent = cache.scaled_index && cache.keys == dtypes::fp8;
}

/// Number of model replicas that fit on `available` GPUs.
Count replicas_on(Count available, const Request& r) {
  const Count replica = replica_devices(r.layout);
  if (r.gave("--dp") && devices(r.layout) != available)
    throw InputError(fmt::format("--gpus {} differs from --tp x --cp x --pp x --dp = {}; omit one of them", available,
                                 devices(r.layout)));
  const bool divides = available % replica == 0;
  if (!divides && flaw(r.model.arch, r.layout) == LayoutFlaw::heads) refuse_heads(r);
  if (!divides)
    throw InputError(
        fmt::format("--gpus {} is not a multiple of the {} GPUs per model replica (--tp x --cp x --pp); set {}",
                    available, replica, nearest_multiples("--gpus", available, replica)));
  return available / replica;
}

/// Sets the default schedule for several chunks, and the number of chunks that the schedule requires.
void settle_schedule(Request& r) {
  Layout& l = r.layout;
  if (!r.gave("--schedule") && l.chunks > 1) l.schedule = Schedule::interleaved;
  if (!r.gave("--chunks")) l.chunks = std::max<Count>(1, fixed_chunks(l.schedule) == 0 ? 2 : fixed_chunks(l.schedule));
  if (ranks(l, Group::pipeline) == 1 && !r.searches_layouts) l.chunks = 1;
}

}  // namespace

void settle(Request& r) {
  Plan& p = r.plan;
  const Arch& a = r.model.arch;
  apply_what_if(r);
  apply_stack_defaults(r);
  if (!r.machine.empty() && r.has(part::inference) && !r.train) r.infer = true;
  if (r.train && r.infer) r.train = r.infer = false;
  if (r.train) r.parts &= ~part::of_inference;
  if (r.infer) r.parts &= ~part::of_training;
  if (!r.gave("--seq")) p.seq = p.documents.empty() ? std::min(a.context, r.usual_seq) : tokens_in(p.documents);
  if (p.logits.chunk_tokens > 0) p.logits.chunks = ceil_div(mul(p.micro_batch, p.seq), p.logits.chunk_tokens);
  settle_products(r);
  p.weight_precision = settled(r.weights_given, default_weights(r, {}), a);
  if (!r.gave("--base-precision")) p.base_precision = default_weights(r, p.low_precision).formats_alone();
  widen_frozen_weights(r);
  if (!r.gave("--kv-precision")) p.kv_precision = working_format(p);
  if (!r.gave("--state-precision"))
    p.state_precision = p.master || p.precision.format().element_bits >= 32 ? dtypes::fp32 : working_format(p);
  settle_schedule(r);
  if (r.gpus && !r.searches_layouts) r.layout.dp = replicas_on(*r.gpus, r);
  if (!r.gave("--global-batch")) p.global_batch = mul(p.micro_batch, replicas(r.layout));
  if (!r.gave("--prompt") && a.learned_rows() > 0 && a.learned_rows() < p.prompt + p.generate)
    p.prompt = std::max<Count>(1, a.learned_rows() - p.generate);
  choose_software(r);
  if (r.engine && r.engine->gguf_weights) {
    r.weights_given = as_file(r.weights_given, "--weight-precision", r.model);
    p.weight_precision = settled(r.weights_given, default_weights(r, {}), a);
  }
  settle_cache_rows(r);
  settle_host(r);
  if (!r.gave("--memory-utilization")) p.memory_utilization = usual_utilization(r);
  if (r.has(part::training)) r.layout.vocabulary_multiple = vocabulary_multiple(r);
  settle_media_encoders(r);
  if (!r.has(part::inference)) r = for_training(std::move(r));
  if (!r.has(part::training)) r = for_inference(std::move(r));
}

}  // namespace llmcalc
