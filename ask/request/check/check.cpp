#include "ask/request/check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ask/request/check/layout.hpp"
#include "ask/request/check/measured.hpp"
#include "ask/request/check/modules.hpp"
#include "ask/request/check/target.hpp"
#include "ask/request/check/trained.hpp"
#include "ask/request/host.hpp"
#include "ask/request/low_precision.hpp"
#include "ask/request/machine.hpp"
#include "ask/request/nearest.hpp"
#include "ask/request/offload.hpp"
#include "ask/request/options/option_values.hpp"
#include "ask/request/software.hpp"
#include "calc/links/route.hpp"
#include "calc/roofline.hpp"
#include "presets/formats/weight_formats.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

void check_length(const Request& r, Count tokens, std::string_view option) {
  const Arch& a = r.model.arch;
  if (a.learned_rows() > 0 && tokens > a.learned_rows())
    throw InputError(fmt::format("{} {} exceeds the {} learned positions of {}; set at most {}", option, tokens,
                                 a.learned_rows(), r.model.name, a.learned_rows()));
}

/// Inference requires a model that generates tokens after a prompt.
void check_generates(const Request& r, Parts parts) {
  const bool served = (parts & part::serving) != 0 && (parts & part::one_batch) == 0;
  if (r.model.arch.is_encoder_decoder() && served)
    throw InputError(
        fmt::format("{} has an encoder, and serving of encoder-decoder models is not supported; use 'llmcalc infer' "
                    "for a single batch",
                    r.model.name));
  if (r.model.arch.is_encoder_decoder() && !r.plan.kv_cache)
    throw InputError(fmt::format(
        "{} has an encoder, whose keys and values every decode step reads from the cache; omit --no-kv-cache",
        r.model.name));
  if (r.model.arch.head.has_logits() && !r.model.arch.is_encoder()) return;
  throw InputError(fmt::format(
      "{} {}, so it does not generate text token by token; request training instead{}", r.model.name,
      r.model.arch.is_encoder() ? "uses bidirectional attention, as encoders do" : "has no language-model head",
      r.has(part::halves) ? ": add --train" : " ('llmcalc train', 'llmcalc memory --train')"));
}

/// Checks that the documents fill the sequence. Positions restart with each document.
void check_sequence(const Request& r) {
  const Plan& p = r.plan;
  if (p.documents.empty()) return check_length(r, p.seq, "--seq");
  if (tokens_in(p.documents) != p.seq)
    throw InputError(fmt::format("--documents {} add up to {} tokens, but a sequence has {} (--seq); make them equal",
                                 documents_text(p.documents), tokens_in(p.documents), p.seq));
  for (const DocumentRun& d : p.documents) check_length(r, d.length, "--documents");
}

/// The sequences of a step must form whole micro-batches, the same number on every replica.
void check_batch(const Request& r) {
  const Plan& p = r.plan;
  const Count n = replicas(r.layout);
  const Count together = mul(p.micro_batch, n);
  if (p.global_batch % together == 0) return;
  const std::string nearest = nearest_multiples("--global-batch", p.global_batch, together);
  if (n == 1)
    throw InputError(
        fmt::format("--global-batch {} is not a multiple of --micro-batch {}, and every optimizer step runs whole "
                    "micro-batches; set {}",
                    p.global_batch, p.micro_batch, nearest));
  throw InputError(
      fmt::format("--global-batch {} is not a multiple of --micro-batch {} x {} model replicas; it counts all "
                  "replicas, and each runs whole micro-batches; set {}",
                  p.global_batch, p.micro_batch, n, nearest));
}

/// Every group of ranks needs a link that connects them, including groups that fit the widest link but cross its
/// boundary.
void check_links(const Request& r) {
  constexpr std::array groups{std::pair{Group::tensor, "--tp"}, std::pair{Group::context, "--cp"},
                              std::pair{Group::expert, "--ep"}, std::pair{Group::data, "--dp"},
                              std::pair{Group::pipeline, "--pp"}};
  const HardwareCard& h = *r.hardware;
  const auto refuse = [&](Count together, std::string_view option) {
    throw InputError(
        fmt::format("{} defines no link that connects {} devices; {}, or pass a hardware file that defines one "
                    "('llmcalc show {}' prints a template)",
                    h.name, together, fewer_joined(r, option), h.name));
  };
  for (const auto& [group, option] : groups)
    if (const Count n = span(r.layout, group); n > 1 && joining_link(h.cluster, n).bandwidth.value <= 0)
      refuse(n, option);
  for (const auto& [group, option] : groups)
    if (ranks(r.layout, group) > 1 && group_link(h.cluster, r.layout, group).bandwidth.value <= 0)
      refuse(devices(r.layout), option);
}

/// Every device of a machine must have a peak in the plan's format.
void check_peaks(const Request& r) {
  if (r.machine.empty()) return check_peak(r);
  Request one = r;
  for (Count i = 0; i < std::max<Count>(1, static_cast<Count>(r.machine.size())); ++i) {
    one.hardware = card_of_stage(r, i);
    check_peak(one);
  }
}

void check_hardware(const Request& r) {
  const HardwareCard& h = *r.hardware;
  check_peaks(r);
  check_links(r);
  if (!holds_choices(h.cluster, r.layout, r.model.arch.moe))
    throw InputError(
        fmt::format("--expert-nodes {} is too low: these nodes of {} contain fewer experts than the {} to which {} "
                    "routes each token; raise it, or lower --ep",
                    r.layout.expert_nodes, h.name, r.model.arch.moe.top_k, r.model.name));
  if (r.layout.collectives == Collectives::in_network && !reduces(h.cluster))
    throw InputError(
        fmt::format("--collectives in-network requires switches that reduce, but no link of {} supports it; choose "
                    "another algorithm, or pass a hardware file whose link or network has \"reduces\": true",
                    h.name));
}

/// A checkpoint's own formats apply to inference only; training uses the formats of training_weights.
void check_weights(const Request& r) {
  const WeightFormats& w = r.plan.weight_precision;
  if (!r.gave("--weight-precision") || w.plain() || w == r.model.weights) return;
  throw InputError(
      fmt::format("--weight-precision {} is for inference; training stores weights in fp32, fp16, bf16 or fp8",
                  weight_formats_text(w)));
}

/// A recomputed block or group of layers cannot exceed the model's layers.
void check_recomputation(const Request& r) {
  const Count layers = r.model.arch.layers;
  if (r.gave("--recompute") && r.plan.recompute == Recompute::full && r.plan.recompute_layers > layers)
    throw InputError(fmt::format("--recompute {} covers {} layers, but {} has {}; set at most {}:{}, or full",
                                 recomputation_text(r.plan), r.plan.recompute_layers, r.model.name, layers,
                                 name(r.plan.recompute_method), layers));
}

/// Rejects training-only layouts in an answer that includes inference.
void check_both_halves(const Request& r) {
  const std::string_view how = r.has(part::halves) ? "add --train" : "use 'llmcalc train'";
  if (ranks(r.layout, Group::pipeline) > 1)
    throw InputError(fmt::format("--pp has other stages in training than in inference; {}",
                                 r.has(part::halves) ? "add --train or --infer" : "use 'llmcalc train' or 'infer'"));
  if (ranks(r.layout, Group::context) > 1) throw InputError(fmt::format("--cp applies to training; {}", how));
  if (folds_experts(r.layout)) throw InputError(fmt::format("--ep and --etp apply to training; {}", how));
}

}  // namespace

void check(const Request& r, Parts parts) {
  const Plan& p = r.plan;
  check_stages(r);
  check_layout(r);
  check_modules(r);
  if ((parts & (part::training | part::formulas)) != 0) {
    check_sequence(r);
    check_trained(r);
    check_recomputation(r);
    check_low_precision(r);
  }
  if ((parts & part::training) != 0) {
    check_batch(r);
    check_pipeline(r);
    check_sharding(r);
    check_weights(r);
  }
  if ((parts & (part::training | part::inference)) != 0) check_offload(r, parts);
  check_host(r);
  if ((parts & (part::serving | part::one_batch)) != 0 && (parts & part::training) == 0) check_served_stages(r);
  if (r.has(part::inference) && r.has(part::training)) check_both_halves(r);
  if ((parts & part::inference) != 0) check_generates(r, parts);
  if ((parts & part::inference) != 0) check_length(r, add(p.prompt, p.generate), "--prompt plus --generate");
  if ((parts & part::time) != 0 && r.hardware) check_hardware(r);
  check_software(r, parts);
  if (r.target) check_target(r, parts);
  if ((parts & part::run) != 0 && r.run.mfu && r.run.measured_tokens_per_s)
    throw InputError("--mfu and --measured-tokens-per-s both set the speed of the run; omit one");
  if ((parts & part::run) != 0 && r.hardware && r.run.measured_tokens_per_s) check_measured(r);
}

}  // namespace llmcalc
