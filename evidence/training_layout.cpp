#include "evidence/training_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "calc/block.hpp"
#include "calc/parameters.hpp"
#include "calc/partition.hpp"
#include "evidence/stack.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool speaks_of(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

/// The first whole number in a text.
std::optional<Count> first_number(const std::string& text) {
  static const std::regex digits("[0-9]{1,9}");
  std::smatch found;
  if (!std::regex_search(text, found, digits)) return std::nullopt;
  return std::stoll(found[0]);
}

struct ScheduleName {
  const char* name;
  Schedule schedule;
};
constexpr ScheduleName schedule_names[] = {
    {"1f1b", Schedule::one_f_one_b},
    {"1f1bi", Schedule::interleaved},
    {"interleaved", Schedule::interleaved},
    {"interleaved1f1b", Schedule::interleaved},
    {"gpipe", Schedule::gpipe},
    {"zb1p", Schedule::zb_1p},
    {"zb2p", Schedule::zb_2p},
    {"zbh1", Schedule::zb_h1},
    {"zbh2", Schedule::zb_h2},
    {"zbv", Schedule::zb_v},
    {"zbvzerobubble", Schedule::zb_v},
    {"dualpipe", Schedule::dualpipe},
    {"dualpipev", Schedule::dualpipe_v},
    {"1f1binterleaved", Schedule::interleaved},
};

/// The schedule that a text names, letters and digits alone: "ZB-1p" is "zb1p". No text: 1F1B.
std::optional<Schedule> schedule_called(const std::string& text) {
  std::string plain;
  for (const char c : lower(text))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
  if (plain.empty()) return Schedule::one_f_one_b;
  for (const ScheduleName& s : schedule_names)
    if (plain == s.name) return s.schedule;
  return std::nullopt;
}

void use_schedule(const TrainingRow& row, Layout& split, Assumptions& assumed, std::string& skip) {
  const TrainingParallelism& p = row.parallelism;
  const auto schedule = schedule_called(p.schedule);
  if (!schedule) skip = fmt::format("the schedule {} is not known", in_quotes(p.schedule));
  split.schedule = schedule.value_or(Schedule::one_f_one_b);
  split.chunks = std::max<Count>(p.vp.value_or(1), 1);
  if (!p.vp && split.pp > 1 && p.schedule.empty())
    assumed.weigh("one chunk of layers per pipeline rank: virtual stages are not stated");
  if (split.pp == 1) {
    split.chunks = 1;
    split.schedule = Schedule::one_f_one_b;
    return;
  }
  if (split.schedule == Schedule::one_f_one_b && split.chunks > 1) split.schedule = Schedule::interleaved;
  if (split.schedule == Schedule::interleaved && split.chunks == 1) split.schedule = Schedule::one_f_one_b;
  if (const Count fixed = fixed_chunks(split.schedule); fixed > 0) split.chunks = fixed;
}

/// The first positive of what is said and the quotient of what is there.
Count data_ranks(const TrainingRow& row, const Layout& split, Assumptions& assumed) {
  if (row.parallelism.dp) return *row.parallelism.dp;
  assumed.weigh("data parallelism over all devices that other kinds leave: the layout is not stated");
  return std::max<Count>(1, row.hardware.count / mul(split.tp, split.cp, split.pp));
}

/// FSDP's SHARD_GRAD_OP keeps weights gathered between forward and backward, which ZeRO-3 without resharding is.
void use_sharding(const TrainingRow& row, Layout& split, Assumptions& assumed) {
  const TrainingParallelism& p = row.parallelism;
  const bool sharded = p.fsdp.value_or(false);
  if (p.zero_stage) split.zero = static_cast<Zero>(*p.zero_stage);
  if (sharded) split.zero = Zero::weights;
  if (speaks_of(p.fsdp_strategy, "GRAD_OP")) split.reshard = false;
  if (!p.zero_stage && !sharded && !p.dp) {
    split.zero = Zero::weights;
    assumed.weigh("weights, gradients and optimizer states are sharded over all devices: the row does not state it");
  } else if (!p.zero_stage && !sharded && mul(split.dp, split.cp) > 1) {
    assumed.note("optimizer states are not sharded, which the row does not state");
  }
  const auto notes_group = [&] {
    const std::size_t at = row.notes.find("sharding group");
    return at == std::string::npos ? std::nullopt : first_number(row.notes.substr(at));
  };
  auto group = first_number(p.fsdp_group.empty() ? p.zero_group : p.fsdp_group);
  if (!group) group = notes_group();
  const Count all = mul(split.dp, split.cp);
  if (group && *group > 0 && *group < all && all % *group == 0 && split.zero != Zero::none) split.hsdp = *group;
}

void use_context(const TrainingRow& row, Layout& split) {
  const std::string said = lower(row.parallelism.cp_comm);
  if (speaks_of(said, "gather")) split.context_method = ContextMethod::all_gather;
  if (speaks_of(said, "a2a") || speaks_of(said, "ulysses") || speaks_of(said, "all-to-all"))
    split.context_method = ContextMethod::ulysses;
}

/// Megatron-LM cuts experts over the tensor-parallel ranks by default; where there are too few ranks for that, the run
/// cannot have done so.
void use_experts_ranks(const TrainingRow& row, const Arch& arch, Layout& split, Assumptions& assumed) {
  if (!arch.has_experts()) return;
  split.ep = row.parallelism.ep.value_or(1);
  split.etp = row.parallelism.etp.value_or(0);
  if (split.etp == 0 && flaw(arch, split) == LayoutFlaw::expert_ranks) {
    split.etp = 1;
    assumed.note("experts are not cut over tensor ranks: there would be too few ranks");
  }
  if (flaw(arch, split) == LayoutFlaw::expert_tokens) {
    split.sp = true;
    assumed.note(
        "sequence parallelism, without which experts on ranks of their own do not run with tensor parallelism");
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
    case LayoutFlaw::expert_tokens:
    case LayoutFlaw::expert_load:
    case LayoutFlaw::expert_nodes:
      return "the expert-parallel ranks fit neither experts nor other ranks";
    case LayoutFlaw::pipeline_state:
      return "the stages of the pipeline do not pass on what later layers read";
    case LayoutFlaw::sequence_of_one:
    case LayoutFlaw::context_heads:
    case LayoutFlaw::context_state:
    case LayoutFlaw::context_encoder:
    case LayoutFlaw::context_tokens:
      return "the context-parallel ranks do not divide the sequence";
  }
  return "";
}

/// Tokens of a micro-batch without a pipeline, and of a step, where the row states neither: usual sizes.
constexpr Count usual_micro_tokens = 16384, usual_step_tokens = Count{1} << 21;

/// The largest divisor of n that is at most `most`, at least 1.
Count divisor_below(Count n, Count most) {
  for (Count d = std::min(n, most); d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

/// A pipeline needs many micro-batches; torchtitan's makes as many as it has stages unless told otherwise.
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

std::vector<Count> repeated(const std::vector<Count>& chunk_layers, Count times) {
  std::vector<Count> out;
  for (Count i = 0; i < times; ++i) out.insert(out.end(), chunk_layers.begin(), chunk_layers.end());
  return out;
}

/// Layers divided evenly over chunks, the first and last with fewer by the given numbers.
std::vector<Count> even(Count layers, Count chunks, Count less_first, Count less_last) {
  const Count units = layers + less_first + less_last;
  if (units % chunks != 0) return {};
  std::vector<Count> out = repeated({units / chunks}, chunks);
  out.front() -= less_first;
  out.back() -= less_last;
  return out.front() < 0 || out.back() < 0 ? std::vector<Count>{} : out;
}

/// Contiguous chunks so that the one with the most parameters has the fewest, as frameworks that partition by
/// parameters do. All layers must be alike.
std::vector<Count> by_parameters(const Arch& arch, const Pipeline& pipeline) {
  const LayerKinds kinds = layer_kinds(arch);
  if (kinds.size != 1) return {};
  const Parameters p = parameters(arch);
  RowCosts costs;
  costs.layer[0] = static_cast<double>(p.attention + p.mlp) / static_cast<double>(arch.layers);
  costs.embedding = static_cast<double>(p.embedding);
  costs.head = arch.tied_head ? costs.embedding : static_cast<double>(p.lm_head);
  const Partition cut = balanced(kinds, costs, pipeline);
  std::vector<Count> out;
  for (Count i = 0; i < cut.size(); ++i) out.push_back(cut[i].layers());
  return out;
}

/// The chunks of a row, in the order of the model; empty: left to the engine.
std::vector<Count> chunks_of(const TrainingRow& row, const Arch& arch, const Layout& split, Assumptions& assumed) {
  const TrainingParallelism& p = row.parallelism;
  const Count chunks = mul(split.pp, split.chunks);
  if (!p.pp_layout.empty())
    if (auto stated = chunks_of_layout(p.pp_layout); static_cast<Count>(stated.size()) == chunks) return stated;
  const bool fewer_at_ends = speaks_of(p.layer_split, "first and last stage hold one layer fewer") ||
                             speaks_of(p.partition, "embedding") || speaks_of(p.pp_balance, "one layer each");
  if (fewer_at_ends)
    if (auto ends = even(arch.layers, chunks, 1, 1); !ends.empty()) return ends;
  if (auto plain = even(arch.layers, chunks, 0, 0); !plain.empty() && !fewer_at_ends) return plain;
  if (auto ends = even(arch.layers, chunks, 1, 1); !ends.empty()) {
    assumed.note("embedding and head count as a layer each, which makes the layers divisible");
    return ends;
  }
  if (split.schedule == Schedule::one_f_one_b && chunks <= arch.layers)
    if (auto balanced_chunks = by_parameters(arch, {split.schedule, split.pp, split.chunks, 1});
        !balanced_chunks.empty()) {
      assumed.note(fmt::format("{} layers over {} stages are balanced by parameters: the row does not state how",
                               arch.layers, split.pp));
      return balanced_chunks;
    }
  assumed.note("layers are spread so that the slowest stage is as fast as possible: the row does not state how");
  return {};
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
  use_context(row, split);
  use_experts_ranks(row, arch, split, assumed);
  if (skip.empty() && devices(split) != row.hardware.count)
    skip = fmt::format("tp x cp x pp x dp are {} devices, and the row has {}", devices(split), row.hardware.count);
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

std::vector<Count> chunks_of_layout(const std::string& text) {
  // Brackets and repetitions are written out from the innermost, then chunks are counted.
  static const std::regex group("\\(([^()]*)\\)(?:\\*([0-9]{1,4}))?"), item("([A-Za-z|])\\*([0-9]{1,4})");
  std::string plain;
  for (const char c : text)
    if (c != ',' && c != ' ') plain += c;
  if (plain.size() > 1000) return {};
  for (const std::regex& what : {item, group, item}) {
    std::smatch found;
    for (int n = 0; n < 512 && plain.size() < 4096 && std::regex_search(plain, found, what); ++n) {
      std::string all;
      const Count times = found[2].matched ? std::min<Count>(std::stoll(found[2]), 1024) : 1;
      for (Count i = 0; i < times; ++i) all += found[1];
      plain = found.prefix().str() + all + found.suffix().str();
    }
  }
  if (plain.find_first_not_of("EtmL|") != std::string::npos || plain.find('t') == std::string::npos) return {};
  std::vector<Count> chunks{0};
  for (const char c : plain) {
    if (c == '|') chunks.push_back(0);
    if (c == 't') ++chunks.back();
  }
  return chunks;
}

StageLayers stage_layers_of(const TrainingRow& row, const Arch& arch, const Layout& split, Assumptions& assumed) {
  StageLayers out;
  if (split.pp == 1 || fixed_chunks(split.schedule) > 1) return out;
  const std::vector<Count> chunks = chunks_of(row, arch, split, assumed);
  if (chunks.size() <= StageLayers::capacity)
    for (const Count n : chunks) out.push(n);
  return out;
}

}  // namespace llmcalc
