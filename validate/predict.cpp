#include "validate/predict.hpp"

#include "calc/block/mixed_residual.hpp"
#include "calc/block/program.hpp"
#include "calc/cost/cost.hpp"
#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/train.hpp"
#include "calc/training/gradient_flow.hpp"
#include "model/pass/forward.hpp"

namespace llmcalc::validate {
namespace {

using model::Direction;

Count whole(Flops f) { return static_cast<Count>(f.value); }

/// A layer's segment with the operators that it runs.
struct Layer {
  SegmentKind kind;
  Count first;  ///< index of the first layer of its kind
  Count input_elements;
  std::vector<Op> ops;
  std::vector<bool> recomputed;  ///< whether each operator is recomputed during backward
  bool mtp = false;              ///< whether the layer belongs to an MTP module
  SavedByOperator saved{};
  TensorId choice = no_tensor;  ///< an indexer's selection, read by later layers
  Bytes cross_layer_tensors{};  ///< tensors shared with later layers, which reread them if all layers are recomputed
  bool backward = true;         ///< whether backward passes through it
  bool whole = false;           ///< whether it is recomputed together with segments `from` to `to`
  std::size_t from = 0, to = 0;
};

/// Removes the preceding result from the tensors that a module's input saves, because the previous head has already
/// saved it.
void share_result(SavedByOperator& saved, const Segment& s, const Pricing& p) {
  for (std::size_t i = 0; i < s.ops.size(); ++i)
    if (s.ops[i].name == "mtp.result_norm") saved[i] -= bytes_of(p.activation, s.input_elements);
}

/// One entry each for the embedding, every kind of layer and the head, and for a module's input, layer and head.
std::vector<Layer> kinds_of_layers(const Arch& arch, const Plan& plan, const Step& step) {
  std::vector<Layer> all;
  for_each_operator(arch, plan, {}, step, [&](const OperatorRow& row) {
    if (row.index == 0) {
      all.push_back({row.segment.kind, row.segment.layer.first, row.segment.input_elements, {}, {}, row.segment.mtp});
      all.back().choice = row.segment.ops.cross_layer_tensors();
      all.back().backward = row.segment.backward;
      const Pricing p = pricing(plan, Phase::training);
      if (step.training) all.back().saved = saved_by_operator(row.segment.ops, p, row.segment.input_elements);
      if (step.training && row.segment.mtp) share_result(all.back().saved, row.segment, p);
      const LayerKind& layer = row.segment.layer;
      if (step.training && (layer.shares_kv || layer.closes_encoder))
        all.back().cross_layer_tensors = liveness(row.segment.ops, p, row.segment.input_elements).carried;
    }
    all.back().ops.push_back(row.op);
    all.back().recomputed.push_back(row.recomputed);
  });
  return all;
}

/// Marks the segments that are recomputed as a whole: blocks, individually or in groups, and modules' blocks,
/// individually.
void mark_whole(std::vector<Layer>& all, const Plan& plan, Count layers) {
  const auto size = static_cast<std::size_t>(recomputes_groups(plan) ? plan.recompute_layers : 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Layer& s = all[i];
    s.from = s.to = i;
    if (s.kind != SegmentKind::block) continue;
    if (!s.backward) continue;
    s.whole = s.mtp ? plan.recompute == Recompute::full && !recomputes_block(plan)
                    : model::recomputes(plan, static_cast<Count>(i) - 1);
    if (s.mtp) continue;
    s.from = i - (i - 1) % size;
    s.to = std::min(s.from + size - 1, static_cast<std::size_t>(layers));
  }
}

/// Every layer of the model in order: embedding, blocks, head, and modules. In a decode step, encoder layers have no
/// operators.
std::vector<Layer> layers(const Arch& arch, const Plan& plan, const Step& step) {
  const std::vector<Layer> kinds = kinds_of_layers(arch, plan, step);
  const LayerKinds order = layer_kinds(arch, step.frozen);
  std::vector<Layer> all{kinds.front()};
  for (Count i = 0; i < arch.layers; ++i) {
    const Count first = order[kind_index(order, i)].first;
    for (const Layer& kind : kinds)
      if (kind.kind == SegmentKind::block && !kind.mtp && kind.first == first) all.push_back(kind);
    if (arch.residual_block > 0)
      for (Op& op : all.back().ops) set_mixed(op, arch, i);
  }
  for (const Layer& kind : kinds)
    if (kind.kind == SegmentKind::head && !kind.mtp) all.push_back(kind);  // an encoder may have no head
  for (Count k = 0; k < step.mtp; ++k)
    for (const Layer& kind : kinds)
      if (kind.mtp) all.push_back(kind);
  mark_whole(all, plan, arch.layers);
  return all;
}

LedgerEntry entry(const Op& op, Direction d) { return {std::string(op.name), op.shape, d}; }

/// Whether the head's matmul and its loss, the last two operators, process tokens in chunks.
bool takes_chunks(const Layer& s, const Plan& plan) {
  return plan.logits.chunks > 1 && !s.ops.empty() && std::holds_alternative<Loss>(s.ops.back().shape);
}

/// Appends the matmul and the loss of each chunk, forward and, if required, backward.
void chunks_order(std::vector<LedgerEntry>& order, const Op& product, const Op& loss, Count chunks) {
  Linear l = std::get<Linear>(product.shape);
  Loss c = std::get<Loss>(loss.shape);
  const Count rows = c.rows, size = ceil_div(rows, chunks);
  for (Count first = 0; first < rows; first += size) {
    l.rows = c.rows = std::min(size, rows - first);
    order.push_back({std::string(product.name), l, Direction::forward});
    order.push_back({std::string(loss.name), c, Direction::forward});
    if (!has_backward(product)) continue;
    order.push_back({std::string(loss.name), c, Direction::backward});
    order.push_back({std::string(product.name), l, Direction::backward});
  }
}

void forward_order(std::vector<LedgerEntry>& order, const Layer& s, const Plan& plan, Direction d) {
  const std::size_t n = s.ops.size(), whole = takes_chunks(s, plan) ? n - 2 : n;
  for (std::size_t i = 0; i < whole; ++i) order.push_back(entry(s.ops[i], d));
  if (whole < n) chunks_order(order, s.ops[n - 2], s.ops[n - 1], plan.logits.chunks);
}

/// Whether an operator runs in backward. With adapters, rows of a frozen table have a gradient, but no operator uses
/// it.
bool runs_backward(const Op& op) {
  return has_backward(op) && !(op.is_frozen() && std::holds_alternative<Lookup>(op.shape));
}

/// Appends a layer's backward operators, the last operator first. Selective recomputation runs an operator just before
/// its result is needed.
void backward_order(std::vector<LedgerEntry>& order, const Layer& s, const Plan& plan) {
  for (std::size_t i = s.ops.size() - (takes_chunks(s, plan) ? 2 : 0); i-- > 0;) {
    if (!runs_backward(s.ops[i])) continue;
    if (plan.recompute == Recompute::selective && s.recomputed[i])
      order.push_back(entry(s.ops[i], Direction::recompute));
    order.push_back(entry(s.ops[i], Direction::backward));
  }
}

/// Appends the backward operators of every segment, the last segment first. A group is recomputed as a whole before its
/// last segment.
void backward_order(std::vector<LedgerEntry>& order, const std::vector<Layer>& all, const Plan& plan) {
  for (std::size_t i = all.size(); i-- > 0;) {
    if (all[i].whole && i == all[i].to)
      for (std::size_t k = all[i].from; k <= i; ++k) forward_order(order, all[k], plan, Direction::recompute);
    backward_order(order, all[i], plan);
  }
}

/// Adds the saved tensors. If segments are recomputed as a whole, only the first segment's input and the results that
/// later layers read are saved.
void add_saved(Ledger& l, const Layer& s, const Plan& plan, bool is_first) {
  if (s.whole) {
    if (is_first)
      l.saved["block.input"] += bytes_of(plan.precision, s.input_elements).value + s.cross_layer_tensors.value;
    for (const Op& op : s.ops)
      if (!op.in_place() && op.out == s.choice)
        l.saved[std::string(op.name)] += result_bytes(op.shape, plan.precision).value;
    return;
  }
  for (std::size_t i = 0; i < s.ops.size(); ++i)
    if (s.saved[i] != Bytes()) l.saved[std::string(s.ops[i].name)] += s.saved[i].value;
}

/// Adds executed FLOPs: all query-key pairs in naive attention, causal pairs in flash attention.
void add_flops(std::map<std::string, Count>& to, const Op& op, const Cost& c) {
  if (c.executed != Flops()) to[std::string(op.name)] += whole(c.executed);
}

}  // namespace

Ledger predicted_training(const Arch& arch, const Plan& plan) {
  Ledger l;
  const Memory m = training_memory(arch, plan);
  l.bytes = {{"weights", m.weights.value},     {"gradients", m.gradients.value},
             {"optimizer", m.optimizer.value}, {"activations", m.activations.value},
             {"logits", m.logits.value},       {"workspace", m.workspace.value},
             {"peak", m.peak.value},           {"parameters", m.parameters}};
  const Pricing p = pricing(plan, Phase::training);
  const std::vector<Layer> all = layers(arch, plan, training_step(plan));
  for (std::size_t at = 0; at < all.size(); ++at) {
    const Layer& s = all[at];
    forward_order(l.order, s, plan, Direction::forward);
    add_saved(l, s, plan, at == s.from);
    const bool recomputes_block = plan.recompute != Recompute::full || s.whole;
    for (std::size_t i = 0; i < s.ops.size(); ++i) {
      add_flops(l.forward, s.ops[i], forward(s.ops[i], p));
      add_flops(l.backward, s.ops[i], backward(s.ops[i], p));
      if (s.recomputed[i] && recomputes_block) add_flops(l.recompute, s.ops[i], forward(s.ops[i], p));
    }
  }
  backward_order(l.order, all, plan);
  return l;
}

Ledger predicted_inference(const Arch& arch, const Plan& plan) {
  Ledger l;
  const Memory m = inference_memory(arch, plan);
  l.bytes = {{"weights", m.weights.value},
             {"kv_cache", m.kv_cache.value},
             {"workspace", m.workspace.value},
             {"peak", m.peak.value},
             {"parameters", m.parameters}};
  for (const Layer& s : layers(arch, plan, prefill_step(plan, plan.prompt))) {
    forward_order(l.order, s, plan, Direction::forward);
    for (const Op& op : s.ops) add_flops(l.forward, op, forward(op, pricing(plan, Phase::prefill)));
  }
  if (plan.generate == 0) return l;
  const Step last = plan.kv_cache ? last_step(plan) : prefill_step(plan, plan.prompt + plan.generate);
  const Phase phase = plan.kv_cache ? Phase::decode : Phase::prefill;
  for (const Layer& s : layers(arch, plan, last)) {
    forward_order(l.order, s, plan, Direction::forward);
    for (const Op& op : s.ops) add_flops(l.backward, op, forward(op, pricing(plan, phase)));
  }
  return l;
}

}  // namespace llmcalc::validate
