#include "report/layout_check.hpp"

#include <fmt/format.h>

#include <array>

#include "calc/train.hpp"
#include "report/nearest.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

std::string divisors_text(Count n) {
  std::string s;
  for (Count d = 1; d <= n && d <= 1024; ++d)
    if (n % d == 0) s += (s.empty() ? "" : ", ") + fmt::format("{}", d);
  return s;
}

/// Parts into which context-parallel ranks divide a sequence.
[[noreturn]] void refuse_length(const Request& r) {
  const Count n = ranks(r.layout, Group::context);
  const bool by_heads = r.layout.context_method == ContextMethod::ulysses;
  const std::string lengths = nearest_lengths(r, by_heads ? n : 2 * n);
  throw InputError(fmt::format("--seq {} is not a multiple of {} (--cp {}: every rank has {} of a sequence); {}",
                               r.plan.seq, by_heads ? n : 2 * n, n, by_heads ? "one part" : "two parts",
                               lengths.empty() ? "lower --cp" : "give " + lengths));
}

/// The message that a schedule needs another number of ranks, chunks or micro-batches.
std::string pipeline_sentence(const Request& r, const Pipeline& p) {
  const std::string_view schedule = name(p.schedule);
  switch (flaw(p)) {
    case PipelineFlaw::none:
    case PipelineFlaw::ranks:
      break;
    case PipelineFlaw::odd_ranks:
      return fmt::format("--schedule {} pairs the first rank with the last, and --pp {} is odd; give {}", schedule,
                         p.ranks, even_ranks(r, p));
    case PipelineFlaw::chunks: {
      constexpr std::array usual{"two or more chunks", "one chunk", "two chunks"};
      return fmt::format("--schedule {} has {} of layers per rank, got --chunks {}; give {}", schedule,
                         usual[static_cast<std::size_t>(fixed_chunks(p.schedule))], p.chunks,
                         chunks_of_schedule(r, enough(p)));
    }
    case PipelineFlaw::micro_batches:
    case PipelineFlaw::odd_micro_batches:
    case PipelineFlaw::groups:
      return fmt::format(
          "--schedule {} on {} ranks cannot run {} micro-batches per step; {} can be: give --global-batch {}", schedule,
          p.ranks, p.micro_batches, enough(p), mul(enough(p), r.plan.micro_batch, replicas(r.layout)));
  }
  return "";
}

void check_stage_layers(const Request& r, Count chunks) {
  const StageLayers& stated = r.layout.stage_layers;
  if (stated.empty()) return;
  Count sum = 0;
  for (const Count n : stated) sum = add(sum, n);
  if (static_cast<Count>(stated.size()) != chunks)
    throw InputError(fmt::format("--stage-layers has {} numbers for {} chunks of layers (--pp x --chunks); give {}",
                                 stated.size(), chunks, chunks));
  if (sum != r.model.arch.layers)
    throw InputError(fmt::format("--stage-layers add up to {} layers, and {} has {}; give {}, or leave it out", sum,
                                 r.model.name, r.model.arch.layers, stage_layers_that_add_up(r)));
}

}  // namespace

void refuse_heads(const Request& r) {
  const Count heads = r.model.arch.heads;
  throw InputError(fmt::format("--tp {} does not divide the {} attention heads of {}; {} do",
                               ranks(r.layout, Group::tensor), heads, r.model.name, divisors_text(heads)));
}

void check_layout(const Request& r) {
  const Layout& l = r.layout;
  const std::string& model = r.model.name;
  switch (flaw(r.model.arch, l, r.plan.seq)) {
    case LayoutFlaw::none:
    case LayoutFlaw::expert_nodes:  // see check_hardware: it depends on the nodes
      return;
    case LayoutFlaw::heads:
      refuse_heads(r);
    case LayoutFlaw::sequence_of_one:
      throw InputError("--sp needs several tensor-parallel ranks; add --tp, or leave it out");
    case LayoutFlaw::context_heads:
      throw InputError(
          fmt::format("--cp {} does not divide the {} attention heads of a rank of {}, as Ulysses needs; {} do",
                      ranks(l, Group::context), r.model.arch.heads / ranks(l, Group::tensor), model,
                      divisors_text(r.model.arch.heads / ranks(l, Group::tensor))));
    case LayoutFlaw::context_state:
      throw InputError(
          fmt::format("--cp {} cannot be: {} has layers whose state passes from token to token, or whose indexer "
                      "chooses among the keys of all tokens; leave it out",
                      ranks(l, Group::context), model));
    case LayoutFlaw::context_encoder:
      throw InputError(
          fmt::format("--cp {} cannot be: {} has attention to an encoder, or relative positions, which context "
                      "parallelism is not known to divide; leave it out",
                      ranks(l, Group::context), model));
    case LayoutFlaw::pipeline_state:
      throw InputError(fmt::format(
          "--pp {} cannot be: layers of {} read keys, values, inputs or weights of earlier layers, which the "
          "stages of a pipeline do not pass on here; leave it out",
          ranks(l, Group::pipeline), model));
    case LayoutFlaw::context_tokens:
      refuse_length(r);
    case LayoutFlaw::experts:
      if (!r.model.arch.has_experts())
        throw InputError(fmt::format("--ep {} is for models with experts, and {} has none; leave it out",
                                     ranks(l, Group::expert), model));
      throw InputError(fmt::format("--ep {} does not divide the {} experts of {}; {} do", ranks(l, Group::expert),
                                   r.model.arch.moe.experts, model, divisors_text(r.model.arch.moe.experts)));
    case LayoutFlaw::expert_ranks:
      throw InputError(
          fmt::format("--ep {} x --etp {} does not divide --tp x --cp x --dp = {}, from which experts take "
                      "their ranks; {}",
                      ranks(l, Group::expert), ranks(l, Group::expert_tensor),
                      mul(ranks(l, Group::tensor), ranks(l, Group::data)), fewer_expert_ranks(r)));
    case LayoutFlaw::expert_shards:
      throw InputError(
          fmt::format("--ep {} x --etp {} does not divide --tp x --hsdp = {}, the GPUs of one copy of the states, "
                      "which holds every "
                      "expert; {}",
                      ranks(l, Group::expert), ranks(l, Group::expert_tensor), mul(ranks(l, Group::tensor), l.hsdp),
                      wider_copy(r)));
    case LayoutFlaw::expert_tokens:
      throw InputError("--ep with --tp needs --sp, so that each rank sends its own tokens to the experts; add it");
    case LayoutFlaw::expert_load:
      if (l.expert_load.value() > 1)
        throw InputError(fmt::format(
            "--expert-load {:g}: the most loaded of {} expert ranks (--ep) has at most all "
            "tokens, {} times the mean; give at most {}",
            l.expert_load.value(), ranks(l, Group::expert), ranks(l, Group::expert), ranks(l, Group::expert)));
      throw InputError("--expert-load below 1: the most loaded rank has at least the mean; give 1 or more");
  }
}

void check_served_stages(const Request& r) {
  const Count stages = ranks(r.layout, Group::pipeline), layers = r.model.arch.layers;
  if (stages > layers)
    throw InputError(
        fmt::format("--pp {} is more than the {} layers of {}; give at most {}", stages, layers, r.model.name, layers));
}

void check_pipeline(const Request& r) {
  if (ranks(r.layout, Group::pipeline) == 1) return;
  const Pipeline p = pipeline_of(r.plan, r.layout);
  const Count chunks = model_chunks(p), layers = r.model.arch.layers;
  const bool has_its_chunks = flaw(p) != PipelineFlaw::chunks;
  if (has_its_chunks && chunks > layers)
    throw InputError(fmt::format("--pp {} x {} chunks of layers are more than the {} layers of {}; give {}", p.ranks,
                                 p.chunks / directions(p), layers, r.model.name, fewer_chunks(r, p)));
  if (p.chunks > static_cast<Count>(most_chunks))
    throw InputError(
        fmt::format("--chunks {} is more than the {} that a rank can have; lower it", p.chunks, most_chunks));
  if (const std::string sentence = pipeline_sentence(r, p); !sentence.empty()) throw InputError(sentence);
  check_stage_layers(r, chunks);
}

void check_sharding(const Request& r) {
  const Layout& l = r.layout;
  if (r.gave("--reshard") && l.zero != Zero::weights && !r.searches("--zero"))
    throw InputError("--reshard changes nothing without --zero 3 (--fsdp); add it, or leave it out");
  if (l.hsdp == 0) return;
  const Count all = ranks(l, Group::data);
  if (l.zero == Zero::none)
    throw InputError("--hsdp changes nothing without --zero 1, 2 or 3; add it, or leave it out");
  if (all % l.hsdp != 0 || ranks(l, Group::shard) != l.hsdp)
    throw InputError(
        fmt::format("--hsdp {} does not divide the {} ranks that hold the same weights (--dp x --cp); {} do", l.hsdp,
                    all, divisors_text(all)));
}

}  // namespace llmcalc
