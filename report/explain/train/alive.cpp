#include "report/explain/train/alive.hpp"

#include <fmt/format.h>

#include <map>

#include "calc/arch/cross_layer.hpp"
#include "calc/block/program.hpp"
#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"

namespace llmcalc::explain {
namespace {

Bytes total(const std::vector<AliveTensor>& all) {
  Bytes b;
  for (const AliveTensor& a : all) b += a.bytes;
  return b;
}

/// The name of a saved tensor that is neither input nor output of an operator.
const char* own_name(const Op& op, const Pricing& p) {
  if (std::holds_alternative<Norm>(op.shape)) return "statistics";
  if (std::holds_alternative<Lookup>(op.shape)) return "ids";
  if (std::holds_alternative<Loss>(op.shape)) return "log-sum-exps";
  if (const Pointwise* x = std::get_if<Pointwise>(&op.shape))
    return x->kind == PointwiseKind::dropout ? "mask" : "logits and gates";
  return p.attention == AttentionImpl::flash ? "log-sum-exps" : "scores";
}

/// Whether the result is the logits, which the loss reads.
bool is_logits(const OpList& ops, const Op& op) {
  for (const Op& reader : ops)
    if (std::holds_alternative<Loss>(reader.shape) && !op.in_place() && reader.in[0] == op.out) return true;
  return false;
}

std::string name_of(const Alive& a, const OpList& ops, const Pricing& p) {
  if (a.op == Alive::no_op) return a.as == Alive::As::gradient ? "gradient of its input" : "its input";
  const Op& op = ops[a.op];
  const std::string name(p.training() && is_logits(ops, op) ? "logits" : op.name);
  switch (a.as) {
    case Alive::As::result:
      return name;
    case Alive::As::own:
      return name + ", " + own_name(op, p);
    case Alive::As::gradient:
      return "gradient of " + name;
    case Alive::As::recomputed:
      return name + ", recomputed";
    case Alive::As::scratch:
      return name + ", workspace";
  }
  return name;
}

std::vector<AliveTensor> named(const Moment& m, const OpList& ops, const Pricing& p) {
  std::vector<AliveTensor> all;
  for (const Alive& a : m) all.push_back({name_of(a, ops, p), a.bytes});
  return all;
}

/// Tensors that one kind of segment adds, and the tensors live at its peaks. `recomputed`: at the peak during
/// recomputation in the backward pass.
struct HeldPart {
  std::string name;
  LayerKind kind;
  Bytes saved, input, output, cross_layer_tensors;
  Bytes awaited;             ///< bytes of gradients to which later layers add
  Bytes awaited_by_encoder;  ///< share of `awaited` for the encoder's relative-position biases
  Bytes choice;              ///< bytes of key selections that later layers read
  std::vector<AliveTensor> forward, recomputed, backward;
};

std::string name_of(const Segment& s) {
  const std::string part = s.mtp ? "module " : "";
  if (s.kind == SegmentKind::embedding) return part + "embedding";
  if (s.kind == SegmentKind::head) return part + "head";
  const char* local = s.layer.reach.chunked ? "chunked " : "windowed ";
  const char* attention = s.layer.linear ? "linear " : s.layer.reach.limited() ? local : "";
  const std::string mixer = s.layer.mixer > 0 ? fmt::format("mixer {} ", s.layer.mixer + 1) : "";
  return part + fmt::format("{}{}{}{}block{}", s.layer.wide ? "wide " : "", mixer, s.layer.experts ? "experts " : "",
                            attention, s.layer.has_mlp() ? "" : " without MLP");
}

HeldPart part(const Segment& s, const Plan& plan, Bytes logits) {
  const Pricing p = pricing(plan, Phase::training);
  const Bytes mine = s.kind == SegmentKind::head ? logits : Bytes();
  const Liveness l = liveness(s.ops, p, s.input_elements, mine);
  const WorstMoments w = worst_moments(s.ops, p, s.input_elements, mine);
  HeldPart r{.name = name_of(s),
             .kind = s.layer,
             .saved = l.saved,
             .input = l.input,
             .output = l.output,
             .cross_layer_tensors = l.carried,
             .awaited = s.layer.closes_encoder && s.backward ? l.output : l.awaited,
             .awaited_by_encoder = l.awaited_by_encoder,
             .choice = l.cross_layer_tensors,
             .forward = named(w.forward, s.ops, p),
             .recomputed = {},
             .backward = {}};
  if (s.kind != SegmentKind::embedding || l.carried != Bytes()) r.backward = named(w.backward, s.ops, p);
  if (plan.recompute != Recompute::full || s.kind != SegmentKind::block) return r;
  r.recomputed = r.forward;
  r.recomputed.push_back({"gradient of its output", l.output});
  const char* const awaited = s.layer.opens_block ? "gradient of its input" : "gradients of shared keys and values";
  if (l.awaited != Bytes()) r.recomputed.push_back({awaited, l.awaited});
  return r;
}

/// Adds live tensors of the running segment: "head: attn.q".
void append(std::vector<AliveTensor>& to, const std::vector<AliveTensor>& from, const std::string& where) {
  for (const AliveTensor& a : from) to.push_back({where + ": " + a.name, a.bytes});
}

/// Tensors saved by the layers before layer number `layer`, by kind.
std::vector<AliveTensor> saved_before(const Arch& arch, const std::vector<HeldPart>& parts, const Plan& plan,
                                      Count layer) {
  std::vector<AliveTensor> all;
  const LayerKinds kinds = layer_kinds(arch, plan.frozen, plan.low_precision);
  if (parts.front().saved != Bytes()) all.push_back({"saved by the embedding", parts.front().saved});
  for (std::size_t k = 0; k + 2 < parts.size(); ++k) {
    Count n = 0;
    for (Count i = 0; i < layer; ++i) n += kind_index(kinds, i) == k;
    const HeldPart& p = parts[k + 1];
    const Bytes bytes = n * (plan.recompute == Recompute::full ? p.input + p.choice : p.saved);
    if (bytes != Bytes()) all.push_back({fmt::format("saved by {} x {}", n, p.name), bytes});
  }
  return all;
}

/// Noun for the tensors shared across layers.
const char* cross_layer_name(const Arch& a) {
  if (a.residual_block > 0) return "residual streams";
  return a.is_encoder_decoder() ? "results" : "keys and values";
}

/// Finds the peak over a model's parts in training.
class WorstOfTraining {
 public:
  WorstOfTraining(const Arch& arch, const Plan& plan, const std::vector<HeldPart>& parts)
      : arch_(arch),
        plan_(plan),
        parts_(parts),
        cross_layer_(cross_layer_tensors(layer_kinds(arch, plan.frozen, plan.low_precision))),
        encoder_(encoder_end(layer_kinds(arch))) {}

  std::vector<AliveTensor> worst() {
    see({}, parts_.front().forward, "embedding");
    see({}, parts_.front().backward, "embedding");
    for (std::size_t k = 1; k + 1 < parts_.size(); ++k) {
      const LayerKind& kind = parts_[k].kind;  // saved tensors peak at a kind's last layer; gradients may not
      for (Count i = cross_layer_.empty() ? kind.last : kind.first; i <= kind.last; ++i)
        if (kind.layers.contains(i)) see_layer(i, parts_[k]);
    }
    const std::vector<AliveTensor> below = saved_below(arch_.layers, true);
    see(below, parts_.back().forward, parts_.back().name);
    see(below, parts_.back().backward, parts_.back().name);
    return std::move(worst_);
  }

 private:
  void see(std::vector<AliveTensor> before, const std::vector<AliveTensor>& moment, const std::string& where) {
    append(before, moment, where);
    if (total(before) > total(worst_)) worst_ = std::move(before);
  }
  /// Tensors saved by the layers below `layer`. Recomputed layers save the keys and values that later layers read;
  /// these are freed once the backward pass is past the first reader, and are recomputed with their layer.
  std::vector<AliveTensor> saved_below(Count layer, bool in_backward) const {
    std::vector<AliveTensor> below = saved_before(arch_, parts_, plan_, layer);
    if (plan_.recompute != Recompute::full) return below;
    Bytes read;
    for (const CrossLayerTensor& h : cross_layer_)
      if (!h.is_input && h.source < layer && (!in_backward || h.first_reader <= layer))
        read += parts_[h.kind + 1].cross_layer_tensors;
    if (read != Bytes()) below.push_back({shared_kv("{} read by later layers"), read});
    return below;
  }
  /// The sentence with the noun for the shared tensors filled in.
  std::string shared_kv(fmt::format_string<const char*> sentence) const {
    return fmt::format(sentence, cross_layer_name(arch_));
  }
  /// A decoder's embedded tokens (in the backward pass, their gradient), live while the encoder runs.
  std::vector<AliveTensor> waiting(Count layer, const char* name) const {
    const Bytes bytes = parts_.front().output - parts_[1].input;
    if (layer > encoder_ || bytes == Bytes()) return {};
    return {{name, bytes}};
  }
  Bytes gradient_of_distances(Count layer) const {
    const HeldPart& e = parts_.front();
    return layer > encoder_ ? e.awaited - e.awaited_by_encoder : e.awaited;
  }
  void see_layer(Count layer, const HeldPart& p) {
    std::vector<AliveTensor> before = saved_below(layer, false);
    append(before, waiting(layer, "embedded tokens"), "decoder");
    see(std::move(before), p.forward, p.name);
    std::vector<AliveTensor> below = saved_below(layer, true);
    append(below, waiting(layer, "gradient of embedded tokens"), "decoder");
    if (const Bytes d = gradient_of_distances(layer); d != Bytes())
      below.push_back({"gradients of relative-position biases", d});
    Bytes gradients;
    for (const CrossLayerTensor& h : cross_layer_)
      if (h.passes(layer)) gradients += parts_[h.kind + 1].awaited;
    if (gradients != Bytes()) below.push_back({shared_kv("gradients of {} from earlier layers"), gradients});
    see(below, p.recomputed, p.name);
    see(below, p.backward, p.name);
  }

  const Arch& arch_;
  const Plan& plan_;
  const std::vector<HeldPart>& parts_;
  std::vector<CrossLayerTensor> cross_layer_;
  Count encoder_;  // index of the encoder's last layer
  std::vector<AliveTensor> worst_;
};

}  // namespace

std::vector<AliveTensor> alive_in_training(const Setting& s) {
  if (!s.parts().terms) return {};
  const Bytes logits(std::get<Count>(s.row("memory.logits_bytes")->value));
  std::vector<HeldPart> parts;
  for_each_operator(s.arch(), s.plan(), s.layout(), training_step(s.plan()), [&](const OperatorRow& row) {
    if (row.index == 0) parts.push_back(part(row.segment, s.plan(), logits));
  });
  return WorstOfTraining(s.arch(), s.plan(), parts).worst();
}

std::vector<AliveTensor> alive_in_inference(const Setting& s) {
  if (!s.parts().terms) return {};
  const Plan& plan = s.plan();
  std::vector<AliveTensor> worst;
  const LayerKinds kinds = layer_kinds(s.arch());
  const std::vector<CrossLayerTensor> shared_kv = cross_layer_tensors(kinds);
  const Count encoder = encoder_end(kinds);
  Bytes carried, embedded, waiting;
  const auto run = [&](const Step& step, Phase phase, const char* name) {
    const Pricing p = pricing(plan, phase);
    std::map<Count, Bytes> shares_onward;  // carried bytes, by the first layer of each kind
    waiting = embedded = Bytes();
    for_each_operator(s.arch(), plan, s.layout(), step, [&](const OperatorRow& row) {
      if (row.index > 0) return;
      const Segment& seg = row.segment;
      const Liveness l = liveness(seg.ops, p, seg.input_elements);
      if (seg.kind == SegmentKind::embedding) embedded = l.output;
      if (seg.kind != SegmentKind::block) return;
      if (shares_onward.empty() && seg.layer.last <= encoder) waiting = embedded - l.input;
      shares_onward[seg.layer.first] = l.carried;
    });
    const auto each = [&](std::size_t kind) { return shares_onward[kinds[kind].first]; };
    for_each_operator(s.arch(), plan, s.layout(), step, [&](const OperatorRow& row) {
      if (row.index > 0) return;
      const Segment& seg = row.segment;
      const Moment m = worst_moments(seg.ops, p, seg.input_elements).forward;
      if (seg.kind == SegmentKind::embedding) carried = Bytes();
      std::vector<AliveTensor> all = named(m, seg.ops, p);
      if (seg.kind == SegmentKind::block && carried != Bytes())
        all.push_back({"tensors read by later layers", carried});
      const Bytes keys = seg.kind == SegmentKind::block ? cross_layer_bytes(shared_kv, seg.layer, each) : Bytes();
      if (keys != Bytes()) all.push_back({fmt::format("{} from earlier layers", cross_layer_name(s.arch())), keys});
      const bool encodes = seg.kind == SegmentKind::block && seg.layer.last <= encoder;
      if (encodes && waiting != Bytes()) all.push_back({"decoder: embedded tokens", waiting});
      if (!seg.layer.shares_onward()) carried += liveness(seg.ops, p, seg.input_elements).carried;
      if (total(all) <= total(worst)) return;
      worst.clear();
      append(worst, all, name);
    });
  };
  run(prefill_step(plan, plan.prompt), Phase::prefill, "prefill");
  if (plan.kv_cache)
    run(last_step(plan), Phase::decode, plan.mtp > 0 ? "drafting" : "decode");
  else
    run(prefill_step(plan, plan.prompt + plan.generate), Phase::prefill, "last step");
  const Bytes open = plan.kv_cache ? plan.batch * open_bytes(s.arch(), plan, s.layout()) : Bytes();
  if (open != Bytes()) worst.push_back({"keys and gates of tokens in incomplete groups", open});
  return worst;
}

Terms alive_terms(const std::vector<AliveTensor>& all) {
  Terms t{{{"b_i", "bytes of each tensor live at the peak", ""}}, {}};
  for (const AliveTensor& a : all) t.rows.push_back({a.name, {number_text(a.bytes.value)}});
  return t;
}

}  // namespace llmcalc::explain
