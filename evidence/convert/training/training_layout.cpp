#include "evidence/convert/training/training_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "calc/pipeline/schedule.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/convert/words/schedule_words.hpp"
#include "evidence/convert/words/stack_words.hpp"
#include "evidence/names/stack.hpp"
#include "evidence/names/words.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool speaks_of(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

/// First whole number in the text.
std::optional<Count> first_number(const std::string& text) {
  static const std::regex digits("[0-9]{1,9}");
  std::smatch found;
  if (!std::regex_search(text, found, digits)) return std::nullopt;
  return leading_whole(found[0]);
}

/// Number of data-parallel ranks: as stated, or all devices that remain.
Count data_ranks(const TrainingRow& row, const Layout& split, Assumptions& assumed) {
  if (row.parallelism.dp) return *row.parallelism.dp;
  assumed.weigh("data parallelism over all devices that other kinds leave: the layout is not stated");
  return std::max<Count>(1, row.hardware.count / mul(split.tp, split.cp, split.pp));
}

/// A sharding strategy of PyTorch's FSDP (torch.distributed.fsdp.ShardingStrategy).
struct ShardingStrategy {
  std::string_view name;
  Zero zero = Zero::weights;
  bool reshard = true;    ///< whether gathered weights are freed after the forward pass
  bool in_nodes = false;  ///< whether states are sharded inside a node and replicated across nodes
};
constexpr ShardingStrategy sharding_strategies[] = {{"fullshard"},
                                                    {"fullyshard"},
                                                    {"fsdp"},
                                                    {"fsdp2"},
                                                    {"zero3"},
                                                    {"full"},
                                                    {"shardgradop", Zero::weights, false},
                                                    {"hybridshard", Zero::weights, true, true},
                                                    {"hsdp", Zero::weights, true, true},
                                                    {"hybrid", Zero::weights, true, true},
                                                    {"hybridshardzero2", Zero::weights, false, true},
                                                    {"zero2", Zero::weights, false},
                                                    {"noshard", Zero::none},
                                                    {"ddp", Zero::none}};

/// Strategy in a row. An unknown one counts as FULL_SHARD, FSDP's default. Empty if not stated.
std::optional<ShardingStrategy> strategy_of(const TrainingParallelism& p, Assumptions& assumed) {
  if (p.fsdp_strategy.empty()) return std::nullopt;
  const std::string said = run_together(p.fsdp_strategy);
  const ShardingStrategy* longest = nullptr;
  for (const ShardingStrategy& s : sharding_strategies)
    if (said.ends_with(s.name) && (longest == nullptr || s.name.size() > longest->name.size())) longest = &s;
  if (longest != nullptr) return *longest;
  assumed.weigh(fmt::format("FULL_SHARD: unknown FSDP strategy {}", in_quotes(p.fsdp_strategy)));
  return sharding_strategies[0];
}

/// Size of the sharding group, if it does not include all devices: as stated, from the notes, or the number of
/// devices in a node.
std::optional<Count> sharding_group(const TrainingRow& row, bool in_nodes, Assumptions& assumed) {
  const TrainingParallelism& p = row.parallelism;
  const std::string& said = p.fsdp_group.empty() ? p.zero_group : p.fsdp_group;
  if (const auto stated = first_number(said)) return stated;
  if (const std::size_t at = row.notes.find("sharding group"); at != std::string::npos)
    if (const auto noted = first_number(row.notes.substr(at))) return noted;
  if (in_nodes || speaks_of(lower(said), "node")) return row.hardware.gpus_per_node.value_or(8);
  if (!said.empty() && !Words(said).affirms_any({"all", "world", "global"}))
    assumed.weigh(fmt::format("sharding over all devices: unrecognized group {}", in_quotes(said)));
  return std::nullopt;
}

void use_group(const TrainingRow& row, bool in_nodes, Layout& split, Assumptions& assumed) {
  const auto group = sharding_group(row, in_nodes, assumed);
  const Count all = mul(split.dp, split.cp);
  if (group && *group > 0 && *group < all && all % *group == 0 && split.zero != Zero::none) split.hsdp = *group;
}

/// Sets the sharding. FSDP's SHARD_GRAD_OP keeps weights gathered between the forward and the backward pass, like
/// ZeRO-3 without resharding.
void use_sharding(const TrainingRow& row, Layout& split, Assumptions& assumed) {
  const TrainingParallelism& p = row.parallelism;
  const auto strategy = strategy_of(p, assumed);
  const bool sharded = p.fsdp.value_or(strategy.has_value());
  if (p.zero_stage) split.zero = static_cast<Zero>(*p.zero_stage);
  if (sharded) split.zero = strategy ? strategy->zero : Zero::weights;
  if (sharded && strategy) split.reshard = strategy->reshard;
  if (!p.zero_stage && !sharded && !p.dp) {
    split.zero = Zero::weights;
    assumed.weigh("weights, gradients and optimizer states are sharded over all devices: the row does not state it");
  } else if (!p.zero_stage && !sharded && mul(split.dp, split.cp) > 1) {
    assumed.note("optimizer states are not sharded, which the row does not state");
  }
  use_group(row, sharded && strategy && strategy->in_nodes, split, assumed);
}

void use_context(const TrainingRow& row, Layout& split, Assumptions& assumed) {
  const std::string said = lower(row.parallelism.cp_comm);
  if (split.cp > 1 && !said.empty() && !speaks_of(said, "p2p") && !speaks_of(said, "ring") &&
      !speaks_of(said, "gather") && !speaks_of(said, "a2a") && !speaks_of(said, "ulysses") &&
      !speaks_of(said, "all-to-all"))
    assumed.weigh(fmt::format("context parallelism in a ring: \"cp_comm\" is {}, which is not recognized",
                              in_quotes(row.parallelism.cp_comm)));
  if (speaks_of(said, "gather")) split.context_method = ContextMethod::all_gather;
  if (speaks_of(said, "a2a") || speaks_of(said, "ulysses") || speaks_of(said, "all-to-all"))
    split.context_method = ContextMethod::ulysses;
}

/// Sets the number of expert-parallel ranks. Megatron-LM shards experts across tensor-parallel ranks by default; a
/// run with too few ranks for this did not do so.
void use_experts_ranks(const TrainingRow& row, const Arch& arch, Layout& split, Assumptions& assumed) {
  if (!arch.has_experts()) return;
  split.ep = row.parallelism.ep.value_or(1);
  split.etp = row.parallelism.etp.value_or(0);
  split.once_per_rank = split.ep > 1 && nemo_container(row) >= "25.11";  // HybridEP (Megatron-Bridge v0.2.0)
  const LayoutFlaw f = flaw(arch, split);
  if (split.etp == 0 && (f == LayoutFlaw::expert_ranks || f == LayoutFlaw::expert_shards)) {
    split.etp = 1;
    assumed.note("experts are not sharded over tensor ranks: there would be too few ranks");
  }
  if (flaw(arch, split) == LayoutFlaw::expert_tokens) {
    split.sp = true;
    assumed.note("sequence parallelism, which expert parallelism requires in addition to tensor parallelism");
  }
}

std::string spoken(LayoutFlaw f) {
  switch (f) {
    case LayoutFlaw::none:
      return "";
    case LayoutFlaw::heads:
      return "the tensor-parallel ranks do not divide the heads";
    case LayoutFlaw::experts:
    case LayoutFlaw::expert_ranks:
    case LayoutFlaw::expert_shards:
    case LayoutFlaw::expert_stages:
    case LayoutFlaw::expert_tokens:
    case LayoutFlaw::expert_load:
    case LayoutFlaw::expert_nodes:
      return "the expert-parallel ranks fit neither experts nor other ranks";
    case LayoutFlaw::pipeline_state:
      return "the pipeline stages do not forward the tensors that later layers read";
    case LayoutFlaw::sequence_of_one:
    case LayoutFlaw::context_heads:
    case LayoutFlaw::context_state:
    case LayoutFlaw::context_encoder:
    case LayoutFlaw::context_tokens:
      return "the context-parallel ranks do not divide the sequence";
    case LayoutFlaw::cached_ranks:
    case LayoutFlaw::cached_layers:
      return "the ranks of decode context parallelism do not have the same KV heads";
  }
  return "";
}

/// Default number of tokens in a micro-batch (without a pipeline) and in a step.
constexpr Count usual_micro_tokens = 16384, usual_step_tokens = Count{1} << 21;

/// Largest divisor of n that does not exceed `most`; at least 1.
Count divisor_below(Count n, Count most) {
  for (Count d = std::min(n, most); d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

/// Default micro-batch in sequences. Without a pipeline, this is the largest divisor of `whole` up to `most`; with a
/// pipeline, a single sequence, except that torchtitan runs one micro-batch per stage.
Count usual_micro_batch(const TrainingRow& row, const Layout& split, Count whole, Count most) {
  if (split.pp == 1) return divisor_below(whole, most);
  const bool titan = stack_of(row).name == "torchtitan";
  return titan && whole % split.pp == 0 ? whole / split.pp : 1;
}

Count micro_batch_of(const TrainingRow& row, const Layout& split, Count per_replica, Assumptions& assumed) {
  const TrainingBatch& b = row.batch;
  if (b.micro) return *b.micro;
  if (per_replica > 0 && b.grad_accum && per_replica % *b.grad_accum == 0) return per_replica / *b.grad_accum;
  const Count most = std::max<Count>(1, usual_micro_tokens / *row.model.seq_len);
  const Count whole = per_replica > 0 ? per_replica : most;
  const Count micro = usual_micro_batch(row, split, whole, most);
  assumed.weigh(fmt::format("a micro-batch of {}: the row does not state it", micro));
  return micro;
}

}  // namespace

Layout layout_of(const TrainingRow& row, const Arch& arch, Assumptions& assumed, std::string& skip) {
  Layout split;
  const TrainingParallelism& p = row.parallelism;
  split.tp = p.tp.value_or(1);
  split.cp = p.cp.value_or(1);
  split.pp = p.pp.value_or(1);
  split.sp = p.sp.value_or(false) && split.tp > 1;
  use_schedule(row, split, assumed, skip);
  split.dp = data_ranks(row, split, assumed);
  use_sharding(row, split, assumed);
  use_context(row, split, assumed);
  use_experts_ranks(row, arch, split, assumed);
  if (skip.empty() && devices(split) != row.hardware.count)
    skip = fmt::format("tp x cp x pp x dp is {} devices, but the row has {}", devices(split), row.hardware.count);
  if (skip.empty()) skip = spoken(flaw(arch, split, row.model.seq_len.value_or(1)));
  return split;
}

TrainingBatchSizes batch_of(const TrainingRow& row, const Layout& split, Assumptions& assumed) {
  const TrainingBatch& b = row.batch;
  TrainingBatchSizes sizes;
  auto global = b.global;
  if (!global && b.tokens_per_step) global = *b.tokens_per_step / *row.model.seq_len;
  if (!global && b.micro && b.grad_accum) global = mul(*b.micro, *b.grad_accum, replicas(split));
  if (!global && b.local_batch) global = mul(*b.local_batch, replicas(split));
  sizes.micro = micro_batch_of(row, split, global ? *global / replicas(split) : 0, assumed);
  const Count round = mul(sizes.micro, replicas(split));
  if (!global) {
    global = mul(round, std::max<Count>(1, usual_step_tokens / mul(round, *row.model.seq_len)));
    assumed.weigh(fmt::format("steps of {} sequences: the row does not state the batch", *global));
  }
  sizes.global = *global;
  return sizes;
}

}  // namespace llmcalc
