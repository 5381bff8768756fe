#include "evidence/convert/inference/inference_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "calc/parallel/expert.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/words/cluster_words.hpp"
#include "evidence/convert/words/engine_words.hpp"

namespace llmcalc {

namespace {

/// Splits chips into cores for sources that count each core as a device (AWS Neuron, TPU7x), and therefore state more
/// ranks than chips. A GPU is one device, so a row with more ranks than GPUs is an error.
void split_chips(const InferenceRow& row, InferenceCase& c) {
  const Count all = devices(c.layout), chips = row.hardware.count, cores = cores_of_chip(c.on.hardware);
  if (all == chips) return;
  if (all % chips != 0 || all / chips > cores || cores % (all / chips) != 0) {
    c.skip = fmt::format("tp x pp x dp is {} devices, but the row has {}", all, chips);
    return;
  }
  c.on.hardware = part_of(c.on.hardware, all / chips);
  c.assumed.push_back(fmt::format("a rank is 1/{} of a chip: {} ranks on {} chips", all / chips, all, chips));
}

/// Pads the head count to a multiple of the ranks, as engines for these devices do. Padding heads are zeros;
/// pad_experts() pads experts with copies.
void pad_heads(InferenceCase& c, Count ranks_of_heads) {
  const Count heads = c.arch.heads;
  if (heads % ranks_of_heads == 0) return;
  const bool each_its_own = c.arch.kv_heads == heads;
  const Count step = std::lcm(ranks_of_heads, each_its_own ? Count{1} : c.arch.kv_heads);
  const Count padded = ceil_div(heads, step) * step;
  if (padded >= 2 * heads) {
    c.skip = fmt::format("{} ranks do not divide {} heads", ranks_of_heads, heads);
    return;
  }
  c.arch.heads = padded;
  if (each_its_own) c.arch.kv_heads = padded;
  c.assumed.push_back(fmt::format("{} heads are padded to {}, which {} ranks divide", heads, padded, ranks_of_heads));
}

void pad_experts(InferenceCase& c, Count ranks_of_experts) {
  Count& experts = c.arch.moe.experts;
  if (!c.arch.has_experts() || experts % ranks_of_experts == 0) return;
  const Count padded = ceil_div(experts, ranks_of_experts) * ranks_of_experts;
  c.assumed.push_back(fmt::format("{} experts and {} redundant ones, which {} ranks divide", experts, padded - experts,
                                  ranks_of_experts));
  experts = padded;
}

/// The rank count in `split` to which the row's remaining devices are assigned: tensor-parallel ranks if the row does
/// not state them (pipeline stages for llama.cpp, which splits a model by layers), otherwise replicas or stages. If
/// all devices are expert-parallel, all other layers are replicated. Null if the row states every count.
Count* unstated_ranks(const InferenceRow& row, Layout& split) {
  const bool llama = engine_name(row.engine, row.notes).name == "llama.cpp";
  if (!row.tp) return llama && !row.pp ? &split.pp : &split.tp;
  if (!row.dp || row.ep.value_or(1) == row.hardware.count) return &split.dp;
  return row.pp ? nullptr : &split.pp;
}

void use_unstated_ranks(const InferenceRow& row, InferenceCase& c, Layout& split) {
  const Count stated = mul(split.tp, split.pp, split.dp), all = row.hardware.count;
  if (stated >= all || all % stated != 0) return;
  Count* taken = unstated_ranks(row, split);
  if (taken == nullptr) return;
  const Count left = all / stated;
  const char* kind = taken == &split.dp ? "replicas" : taken == &split.pp ? "pipeline stages" : "tensor ranks";
  *taken = mul(*taken, left);
  c.assumed.push_back(fmt::format("{} {}: the row does not state the layout of its {} devices", left, kind, all));
  c.input_assumed = true;
}

/// Derives attention replicas from the row's tensor-parallel ranks, since SGLang and TensorRT-LLM count the replicas
/// among them: tp 8, dp 8 on 8 devices means 8 replicas of attention, with the experts distributed across all 8
/// devices.
void use_replicated_attention(const InferenceRow& row, InferenceCase& c, Layout& split) {
  const Count all = row.hardware.count;
  if (!c.arch.has_experts() || split.dp == 1 || mul(split.tp, split.pp) != all || split.tp % split.dp != 0) return;
  c.assumed.push_back(fmt::format(
      "{} replicas of attention on the {} tensor ranks, as SGLang and TensorRT-LLM count them", split.dp, split.tp));
  split.tp /= split.dp;
}

/// Replaces expert parallelism that exchanges no tokens by tensor parallelism of the experts, and notes it.
void use_replicated_tokens(Layout& l, InferenceCase& c) {
  if (l.dp > 1 || l.ep == 1) return;
  c.assumed.push_back(fmt::format(
      "experts of {} ranks like experts sharded over tensor ranks: without attention replicas, no tokens are exchanged",
      l.ep));
  l = with_replicated_tokens(l);
}

/// Layout of one engine of a pool: with replicated attention, each expert is sharded across the ranks that remain after
/// expert parallelism.
Layout pool_layout(const EnginePool& pool) {
  Layout l;
  (pool.replicated_attention ? l.dp : l.tp) = pool.tp;
  l.ep = pool.ep;
  if (l.dp > 1) l.etp = std::max<Count>(1, pool.tp / pool.ep);
  return l;
}

/// Sets the layouts of the engines for prompts and for answers.
void lay_out_pools(const InferenceRow& row, InferenceCase& c) {
  if (row.prefill.engines == 0 || row.decode.engines == 0) {
    c.skip = "the row does not state the number of engines for prefill and decode";
    return;
  }
  c.layout = pool_layout(row.decode);
  c.engines = row.decode.engines;
  c.prompt_pool = PromptPool{pool_layout(row.prefill), row.prefill.engines};
  use_replicated_tokens(c.layout, c);
  use_replicated_tokens(c.prompt_pool->layout, c);
  pad_heads(c, std::lcm(c.layout.tp, c.prompt_pool->layout.tp));
  pad_experts(c, std::lcm(c.layout.ep, c.prompt_pool->layout.ep));
  for (const Layout& l : {c.layout, c.prompt_pool->layout})
    if (c.skip.empty() && flaw(c.arch, l) != LayoutFlaw::none)
      c.skip = "the expert-parallel ranks fit neither experts nor other ranks";
  const Count all = add(mul(devices(c.layout), c.engines), mul(devices(c.prompt_pool->layout), c.prompt_pool->engines));
  if (c.skip.empty() && all != row.hardware.count)
    c.skip = fmt::format("the engines have {} devices, but the row has {}", all, row.hardware.count);
}

/// Sets the layout. Engines shard each expert across the ranks that remain after expert parallelism: etp = tp x dp /
/// ep.
void lay_out(const InferenceRow& row, InferenceCase& c) {
  Layout split;
  split.tp = row.tp.value_or(1);
  split.pp = row.pp.value_or(1);
  split.dp = row.dp.value_or(1);
  use_unstated_ranks(row, c, split);
  use_replicated_attention(row, c, split);
  split.ep = c.arch.has_experts() ? row.ep.value_or(1) : 1;
  use_replicated_tokens(split, c);
  if (split.ep > 1) split.etp = std::max<Count>(1, mul(split.tp, split.dp) / split.ep);
  split.sp = split.ep > 1 && split.tp > 1;  // splits the tokens across the expert-parallel ranks
  pad_heads(c, split.tp);
  pad_experts(c, split.ep);
  if (c.skip.empty() && flaw(c.arch, split) != LayoutFlaw::none)
    c.skip = "the expert-parallel ranks fit neither experts nor other ranks";
  c.layout = split;
}

}  // namespace

void use_ranks(const InferenceRow& row, InferenceCase& c) {
  if (row.disaggregated) return lay_out_pools(row, c);
  lay_out(row, c);
  if (c.skip.empty()) split_chips(row, c);
}

}  // namespace llmcalc
