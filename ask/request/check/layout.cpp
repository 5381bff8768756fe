#include "ask/request/check/layout.hpp"

#include <fmt/format.h>

#include <array>

#include "ask/request/nearest.hpp"
#include "ask/request/options/option_values.hpp"
#include "calc/train.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

std::string divisors_text(Count n) {
  std::string s;
  for (Count d = 1; d <= n && d <= 1024; ++d)
    if (n % d == 0) s += (s.empty() ? "" : ", ") + fmt::format("{}", d);
  return s;
}

/// Throws because the context-parallel ranks do not divide the sequence.
[[noreturn]] void refuse_length(const Request& r) {
  const Count n = ranks(r.layout, Group::context);
  const bool by_heads = r.layout.context_method == ContextMethod::ulysses;
  const std::string lengths = nearest_lengths(r, by_heads ? n : 2 * n);
  throw InputError(fmt::format("--seq {} is not a multiple of {} (--cp {}: every rank has {} of a sequence); {}",
                               r.plan.seq, by_heads ? n : 2 * n, n, by_heads ? "one part" : "two parts",
                               lengths.empty() ? "lower --cp" : "set " + lengths));
}

/// Message that a schedule needs a different number of ranks, chunks or micro-batches.
std::string pipeline_sentence(const Request& r, const Pipeline& p) {
  const std::string_view schedule = name(p.schedule);
  switch (flaw(p)) {
    case PipelineFlaw::none:
    case PipelineFlaw::ranks:
      break;
    case PipelineFlaw::odd_ranks:
      return fmt::format("--schedule {} pairs the first rank with the last, but --pp {} is odd; set {}", schedule,
                         p.ranks, even_ranks(r, p));
    case PipelineFlaw::chunks: {
      constexpr std::array usual{"two or more chunks", "one chunk", "two chunks"};
      return fmt::format("--schedule {} requires {} of layers per rank, got --chunks {}; set {}", schedule,
                         usual[static_cast<std::size_t>(fixed_chunks(p.schedule))], p.chunks,
                         chunks_of_schedule(r, enough(p)));
    }
    case PipelineFlaw::micro_batches:
    case PipelineFlaw::odd_micro_batches:
    case PipelineFlaw::groups:
      return fmt::format(
          "--schedule {} on {} ranks cannot run {} micro-batches per step, but can run {}; set --global-batch {}",
          schedule, p.ranks, p.micro_batches, enough(p), mul(enough(p), r.plan.micro_batch, replicas(r.layout)));
  }
  return "";
}

void check_stage_layers(const Request& r, Count chunks) {
  const StageLayers& stated = r.layout.stage_layers;
  if (stated.empty()) return;
  Count sum = 0;
  for (const Count n : stated) {
    if (n == 0) throw InputError("--stage-layers: expected a positive whole number for each chunk, got \"0\"");
    sum = add(sum, n);
  }
  if (static_cast<Count>(stated.size()) != chunks)
    throw InputError(fmt::format("--stage-layers has {} values for {} chunks of layers (--pp x --chunks); specify {}",
                                 stated.size(), chunks, chunks));
  if (sum != r.model.arch.layers)
    throw InputError(fmt::format("--stage-layers add up to {} layers, but {} has {}; set {}, or omit it", sum,
                                 r.model.name, r.model.arch.layers, stage_layers_that_add_up(r)));
}

/// Message that context parallelism cannot divide this model.
std::string context_sentence(const Request& r, LayoutFlaw found) {
  const Count cp = ranks(r.layout, Group::context), heads = r.model.arch.heads / ranks(r.layout, Group::tensor);
  if (found == LayoutFlaw::context_heads)
    return fmt::format(
        "--cp {} does not divide the {} attention heads per rank of {}, as Ulysses requires; valid sizes: {}", cp,
        heads, r.model.name, divisors_text(heads));
  if (found == LayoutFlaw::context_state)
    return fmt::format(
        "--cp {} is not supported: {} has layers with a recurrent state, or with an indexer that selects among the "
        "keys of all tokens; omit it",
        cp, r.model.name);
  return fmt::format(
      "--cp {} is not supported: {} has cross-attention to an encoder, or relative positions, for which context "
      "parallelism is not supported; omit it",
      cp, r.model.name);
}

std::string experts_sentence(const Request& r) {
  const Count ep = ranks(r.layout, Group::expert), experts = r.model.arch.moe.experts;
  if (!r.model.arch.has_experts())
    return fmt::format("--ep {} applies to models with experts, and {} has none; omit it", ep, r.model.name);
  return fmt::format("--ep {} does not divide the {} experts of {}; valid sizes: {}", ep, experts, r.model.name,
                     divisors_text(experts));
}

std::string expert_load_sentence(const Request& r) {
  const Count ep = ranks(r.layout, Group::expert);
  if (r.layout.expert_load.value() < 1)
    return "--expert-load is below 1, but the most loaded rank has at least the mean; set 1 or more";
  return fmt::format(
      "--expert-load {:g}: the most loaded of {} expert ranks (--ep) has at most all tokens, {} times the mean; set at "
      "most {}",
      r.layout.expert_load.value(), ep, ep, ep);
}

/// Message that experts cannot be sharded across these ranks.
std::string expert_sentence(const Request& r, LayoutFlaw found) {
  const Layout& l = r.layout;
  const Count ep = ranks(l, Group::expert), etp = ranks(l, Group::expert_tensor), tp = ranks(l, Group::tensor);
  if (found == LayoutFlaw::experts) return experts_sentence(r);
  if (found == LayoutFlaw::expert_load) return expert_load_sentence(r);
  if (found == LayoutFlaw::expert_tokens)
    return "--ep with --tp needs --sp, so that each rank sends its own tokens to the experts; add --sp";
  if (found == LayoutFlaw::expert_stages)
    return fmt::format(
        "--order {} places the experts of a pipeline stage on different GPUs than its other layers; put pp last or "
        "first",
        order_text(l.order));
  if (found == LayoutFlaw::expert_ranks)
    return fmt::format("--ep {} x --etp {} does not divide --tp x --cp x --dp = {}, the ranks available to experts; {}",
                       ep, etp, mul(tp, ranks(l, Group::data)), fewer_expert_ranks(r));
  return fmt::format(
      "--ep {} x --etp {} does not divide --tp x --hsdp = {}, the GPUs of one copy of the states, which includes every "
      "expert; {}",
      ep, etp, mul(tp, l.hsdp), wider_copy(r));
}

/// Message that the ranks cannot shard the cached tokens of this model.
std::string cached_sentence(const Request& r, LayoutFlaw found) {
  const Count dcp = ranks(r.layout, Group::cached), tp = ranks(r.layout, Group::tensor);
  if (found == LayoutFlaw::cached_layers)
    return fmt::format(
        "--dcp {} is not supported: {} has layers with a window, pooled or selected keys, or a recurrent state; omit "
        "it",
        dcp, r.model.name);
  const Arch& arch = r.model.arch;
  const Count heads = arch.attention == AttentionKind::latent ? 1 : arch.kv_heads;
  const Count copies = tp % heads == 0 ? tp / heads : 1;
  return fmt::format("--dcp {} does not divide the {} of --tp {} with the same KV heads of {}; valid sizes: {}", dcp,
                     counted(copies, "rank"), tp, r.model.name, divisors_text(copies));
}

}  // namespace

void refuse_heads(const Request& r) {
  const Count heads = r.model.arch.heads;
  throw InputError(fmt::format("--tp {} does not divide the {} attention heads of {}; valid sizes: {}",
                               ranks(r.layout, Group::tensor), heads, r.model.name, divisors_text(heads)));
}

void check_layout(const Request& r) {
  if (ranks(r.layout, Group::cached) > 1 && r.plan.mla == Mla::expanded)
    throw InputError(
        "--dcp shards the cached latent rows, but --mla expanded caches keys and values of each rank's heads; omit one "
        "of them");
  switch (const LayoutFlaw found = flaw(r.model.arch, r.layout, r.plan.seq); found) {
    case LayoutFlaw::none:
    case LayoutFlaw::expert_nodes:  // depends on the nodes; see check_hardware
      return;
    case LayoutFlaw::heads:
      refuse_heads(r);
    case LayoutFlaw::sequence_of_one:
      throw InputError("--sp requires several tensor-parallel ranks; add --tp, or omit it");
    case LayoutFlaw::cached_ranks:
    case LayoutFlaw::cached_layers:
      throw InputError(cached_sentence(r, found));
    case LayoutFlaw::pipeline_state:
      throw InputError(
          fmt::format("--pp {} is not supported: layers of {} reuse keys, values, inputs or weights of earlier layers, "
                      "and pipeline stages do not transfer these; omit it",
                      ranks(r.layout, Group::pipeline), r.model.name));
    case LayoutFlaw::context_tokens:
      refuse_length(r);
    case LayoutFlaw::context_heads:
    case LayoutFlaw::context_state:
    case LayoutFlaw::context_encoder:
      throw InputError(context_sentence(r, found));
    case LayoutFlaw::experts:
    case LayoutFlaw::expert_ranks:
    case LayoutFlaw::expert_shards:
    case LayoutFlaw::expert_stages:
    case LayoutFlaw::expert_tokens:
    case LayoutFlaw::expert_load:
      throw InputError(expert_sentence(r, found));
  }
}

void check_served_stages(const Request& r) {
  const Count stages = ranks(r.layout, Group::pipeline), layers = r.model.arch.layers;
  if (stages > layers)
    throw InputError(
        fmt::format("--pp {} exceeds the {} layers of {}; set at most {}", stages, layers, r.model.name, layers));
  check_stage_layers(r, stages);
}

void check_pipeline(const Request& r) {
  if (ranks(r.layout, Group::pipeline) == 1) return;
  const Pipeline p = pipeline_of(r.plan, r.layout);
  const Count chunks = model_chunks(p), layers = r.model.arch.layers;
  const bool has_its_chunks = flaw(p) != PipelineFlaw::chunks;
  if (has_its_chunks && chunks > layers)
    throw InputError(fmt::format("--pp {} x {} chunks of layers exceed the {} layers of {}; set {}", p.ranks,
                                 p.chunks / directions(p), layers, r.model.name, fewer_chunks(r, p)));
  if (p.chunks > static_cast<Count>(most_chunks))
    throw InputError(fmt::format("--chunks {} exceeds the maximum of {} per rank; lower it", p.chunks, most_chunks));
  if (const std::string sentence = pipeline_sentence(r, p); !sentence.empty()) throw InputError(sentence);
  check_stage_layers(r, chunks);
}

void check_sharding(const Request& r) {
  const Layout& l = r.layout;
  if (r.gave("--reshard") && l.zero != Zero::weights && !r.searches("--zero"))
    throw InputError("--reshard has no effect without --zero 3 (--fsdp); add --zero 3, or omit --reshard");
  if (l.hsdp == 0) return;
  const Count all = ranks(l, Group::data);
  if (l.zero == Zero::none)
    throw InputError("--hsdp has no effect without --zero 1, 2 or 3; add --zero, or omit --hsdp");
  if (all % l.hsdp != 0 || ranks(l, Group::shard) != l.hsdp)
    throw InputError(
        fmt::format("--hsdp {} does not divide the {} ranks with the same weights (--dp x --cp); valid sizes: {}",
                    l.hsdp, all, divisors_text(all)));
}

}  // namespace llmcalc
