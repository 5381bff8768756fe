#include "evidence/profile/table_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "calc/price.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// A layer of the tables, and the operators that one kernel of the layer computes, padded with "". Norm kernels also
/// add the residual; the final norm adds the last layer's residual.
struct LayerMeaning {
  std::string_view layer;
  TableWork work;
  std::array<std::string_view, 3> ops;
};
constexpr LayerMeaning layer_meanings[] = {
    {"qkv_proj", TableWork::product, {"attn.q", "attn.k", "attn.v"}},
    {"o_proj", TableWork::product, {"attn.out"}},
    {"gate_up_proj", TableWork::product, {"mlp.gate", "mlp.up"}},
    {"down_proj", TableWork::product, {"mlp.down"}},
    {"lm_head", TableWork::product, {"head.logits"}},
    {"layernorm", TableWork::elementwise, {"attn.norm", "attn.add"}},
    {"final_layernorm", TableWork::elementwise, {"head.norm", "mlp.add"}},
    {"qk_norm", TableWork::elementwise, {"attn.q_norm", "attn.k_norm"}},
    {"rotary_emb", TableWork::elementwise, {"attn.rope"}},
    {"act_fn", TableWork::elementwise, {"mlp.act"}},
    {"embedding", TableWork::lookup, {"embedding.tokens"}},
};
constexpr std::string_view expert_ops[] = {"mlp.router",      "mlp.route",       "mlp.dispatch",
                                           "mlp.expert_gate", "mlp.expert_up",   "mlp.expert_act",
                                           "mlp.expert_mul",  "mlp.expert_down", "mlp.combine"};

const LayerMeaning* meaning_of(std::string_view layer) {
  const auto* found = std::find_if(std::begin(layer_meanings), std::end(layer_meanings),
                                   [&](const LayerMeaning& m) { return m.layer == layer; });
  return found == std::end(layer_meanings) ? nullptr : found;
}

/// Operators of one rank by name. Each is from the first kind of layer that has it. The attention core is from a layer
/// with unlimited reach, if the model has such a layer. Excludes collectives, which share names with their matmuls.
using OpsByName = std::map<std::string_view, Op>;
OpsByName ops_by_name(const TableSubject& s, const Step& step) {
  OpsByName all;
  bool whole_core = false;
  for_each_operator(s.arch, s.plan, s.layout, step, [&](const OperatorRow& row) {
    if (std::holds_alternative<Collective>(row.op.shape)) return;
    const bool new_core = row.op.name == "attn.core" && !whole_core && !row.segment.layer.reach.limited();
    whole_core = whole_core || new_core;
    if (new_core)
      all.insert_or_assign(row.op.name, row.op);
    else
      all.try_emplace(row.op.name, row.op);
  });
  return all;
}

/// Converts the rows of one table to operators.
class Worker {
 public:
  Worker(std::size_t table, const OperatorTables& t, const TableSubject& s, std::vector<std::string>& left_out)
      : table_(table), t_(t), s_(s), left_out_(left_out) {}

  std::vector<TimedRow> all() {
    for (const LayerTime& l : t_.dense) add_layer(l);
    for (const LayerTime& l : t_.per_sequence) add_layer(l);
    add_attention();
    for (const ExpertsTime& e : t_.experts) add_experts(e);
    return std::move(rows_);
  }

 private:
  const OpsByName& ops_of(Count tokens) {
    const auto [at, is_new] = by_tokens_.try_emplace(tokens);
    if (is_new) at->second = ops_by_name(s_, {.sequences = tokens, .absorbed = true, .fused_glu = true});
    return at->second;
  }

  TimedOp timed(const Op& op, Phase phase) const { return {op, phase, forward(op, pricing(s_.plan, phase))}; }

  void leave_out(std::string sentence) {
    if (std::find(left_out_.begin(), left_out_.end(), sentence) == left_out_.end())
      left_out_.push_back(std::move(sentence));
  }

  void add_layer(const LayerTime& l) {
    const LayerMeaning* meaning = meaning_of(l.layer);
    if (meaning == nullptr) return leave_out(fmt::format("{}: omitted, since no operator corresponds to it", l.layer));
    TimedRow row{table_, l.layer, meaning->work, l.tokens, l.time, {}};
    const OpsByName& ops = ops_of(l.tokens);
    for (const std::string_view name : meaning->ops)
      if (const auto op = ops.find(name); op != ops.end()) row.ops.push_back(timed(op->second, Phase::decode));
    if (row.ops.empty()) return leave_out(fmt::format("{}: omitted, since {} has no such operator", l.layer, s_.name));
    rows_.push_back(std::move(row));
  }

  /// Attention core for this step. Empty if attention is linear.
  std::optional<Op> core(const Step& step) const {
    const OpsByName ops = ops_by_name(s_, step);
    const auto found = ops.find("attn.core");
    if (found == ops.end() || !std::holds_alternative<Attention>(found->second.shape)) return std::nullopt;
    return found->second;
  }
  static Op resized(Op op, Count sequences, Count queries, Count keys) {
    auto& shape = std::get<Attention>(op.shape);
    shape.sequences = sequences;
    shape.queries = queries;
    shape.keys = keys;
    return op;
  }

  void add_attention() {
    if (t_.attention.empty()) return;
    const auto of_prompt = core(prefill_step(s_.plan, 2)), of_token = core(decode_step(s_.plan, 2));
    if (!of_prompt || !of_token)
      return leave_out(fmt::format("attention.csv: omitted, since {} has no softmax attention", s_.name));
    for (const AttentionTime& a : t_.attention) {
      const bool prompt = a.chunk > 0, decoding = a.sequences > 0;
      TimedRow row{table_, "", TableWork::both, add(a.chunk, a.sequences), a.time, {}};
      if (prompt) row.ops.push_back(timed(resized(*of_prompt, 1, a.chunk, add(a.past, a.chunk)), Phase::prefill));
      if (decoding)
        row.ops.push_back(timed(resized(*of_token, a.sequences, 1, std::max<Count>(1, a.context)), Phase::decode));
      if (!decoding) row.work = TableWork::prompt;
      if (!prompt) row.work = TableWork::decoding;
      row.layer = !decoding ? "attention, prompt" : !prompt ? "attention, decoding" : "attention, both";
      rows_.push_back(std::move(row));
    }
  }

  void add_experts(const ExpertsTime& e) {
    if (!s_.arch.has_experts()) return leave_out(fmt::format("moe.csv: omitted, since {} has no experts", s_.name));
    if (e.activated > s_.arch.moe.experts)
      throw InputError(fmt::format("'{}/moe.csv': {} activated experts, but {} has only {}", t_.path, e.activated,
                                   s_.name, s_.arch.moe.experts));
    TimedRow row{table_, "experts", TableWork::experts, e.tokens, e.time, {}};
    const OpsByName& ops = ops_of(e.tokens);
    for (const std::string_view name : expert_ops) {
      const auto found = ops.find(name);
      if (found == ops.end()) continue;
      Op op = found->second;
      if (auto* product = std::get_if<Linear>(&op.shape); product != nullptr && product->top_k > 0) {
        product->groups = e.activated;  // measured by the profiler, rather than the expected value
        product->top_k = 0;
      }
      row.ops.push_back(timed(op, Phase::decode));
    }
    rows_.push_back(std::move(row));
  }

  std::size_t table_;
  const OperatorTables& t_;
  const TableSubject& s_;
  std::vector<std::string>& left_out_;
  std::map<Count, OpsByName> by_tokens_;
  std::vector<TimedRow> rows_;
};

}  // namespace

std::vector<TimedRow> timed_rows(std::size_t table, const OperatorTables& t, const TableSubject& s,
                                 std::vector<std::string>& left_out) {
  return Worker(table, t, s, left_out).all();
}

}  // namespace llmcalc
