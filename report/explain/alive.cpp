#include "report/explain/alive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calc/cost.hpp"
#include "calc/program.hpp"

namespace llmcalc::explain {
namespace {

Bytes total(const std::vector<Alive>& all) {
  Bytes b;
  for (const Alive& a : all) b += a.bytes;
  return b;
}

/// One segment, operator by operator. Every tensor carries the name of the operator that made it; an exchange that
/// makes nothing new, an all-reduce, works in place.
class Walk {
 public:
  Walk(const Segment& s, const Pricing& p, bool core_again, Bytes logits = {})
      : ops_(s.ops), p_(p), core_again_(core_again) {
    for (std::size_t t = 0; t < same_.size(); ++t) same_[t] = t;
    tensors_[block_input] = {"its input", bytes_of(p.activation, s.input_elements), true};
    for (std::size_t i = 0; i < ops_.size(); ++i) add(i);
    if (!p.training()) return;
    for (std::size_t i = 0; i < ops_.size(); ++i) mark(i);
    for (const Op& op : ops_)
      if (std::holds_alternative<Loss>(op.shape)) mark_logits(tensors_[same_[op.in[0]]], logits);
  }

  std::vector<Alive> kept() const {
    std::vector<Alive> all;
    for (const Tensor& t : tensors_)
      if (t.kept) all.push_back({t.name, t.bytes});
    add_own(all, ops_.size() - 1);
    return all;
  }

  std::vector<Alive> forward() const {
    std::vector<Alive> worst;
    for (std::size_t now = 0; now < ops_.size(); ++now) {
      std::vector<Alive> all;
      for (std::size_t t = 0; t < tensors_.size(); ++t) {
        const Tensor& x = tensors_[t];
        if (x.exists && x.made <= now && (x.kept || x.last >= now || t == result_)) all.push_back({x.name, x.bytes});
      }
      add_own(all, now);
      keep_worst(worst, std::move(all), now, false);
    }
    return worst;
  }

  /// Kept tensors, and those gathered or made again, go when the operator that first needs them is done, gradients when
  /// they have been passed on.
  std::vector<Alive> backward() const {
    std::vector<Alive> worst;
    Flags gradient{};
    gradient[result_] = true;
    for (std::size_t now = ops_.size(); now-- > 0;) {
      if (is_core_again(ops_[now])) keep_worse(worst, running_again(now, gradient));
      pass_on(now, gradient);
      keep_worst(worst, alive_in_backward(now, gradient), now, true);
      if (const std::size_t out = output_of(now); out != none) gradient[out] = false;
    }
    return worst;
  }

  Bytes input() const { return tensors_[block_input].bytes; }
  Bytes output() const { return tensors_[result_].bytes; }

 private:
  static constexpr std::size_t max_tensors = 256, none = no_tensor;
  using Flags = std::array<bool, max_tensors>;
  struct Tensor {
    std::string name;
    Bytes bytes;
    bool exists = false;
    std::size_t made = 0, last = 0;             ///< by which operator, and read last by which
    std::size_t first_need = 0, last_need = 0;  ///< by the backward passes of which operators
    bool kept = false, again = false, masked = false;
  };

  bool makes_nothing(const Op& op) const {
    const Collective* c = std::get_if<Collective>(&op.shape);
    return op.in_place() || (c && c->out_elements == 0);
  }
  std::size_t output_of(std::size_t i) const { return makes_nothing(ops_[i]) ? none : ops_[i].out; }
  /// An operator's inputs, each once.
  std::vector<std::size_t> inputs_of(std::size_t i) const {
    std::vector<std::size_t> all;
    for (const TensorId t : ops_[i].in)
      if (t != no_tensor && std::find(all.begin(), all.end(), same_[t]) == all.end()) all.push_back(same_[t]);
    return all;
  }

  void add(std::size_t i) {
    const Op& op = ops_[i];
    for (const std::size_t t : inputs_of(i)) tensors_[t].last = i;
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    if (p && p->kind == PointwiseKind::dropout) tensors_[same_[op.in[0]]].masked = true;
    if (op.in_place()) return;
    if (makes_nothing(op)) {
      same_[op.out] = same_[op.in[0]];
      return;
    }
    tensors_[op.out] = {std::string(op.name), bytes_of(p_.activation, out_elements(op.shape)), true, i, i};
    result_ = op.out;
  }

  void mark(std::size_t i) {
    const Op& op = ops_[i];
    const Needs n = needs(op.shape, p_);
    for (std::size_t k = 0; k < Inputs::most; ++k)
      if (n.in[k] && op.in[k] != no_tensor) need(same_[op.in[k]], i);
    if (n.out) need(output_of(i), i);
  }
  /// What is gathered or made again is not kept, but what it comes from.
  void need(std::size_t t, std::size_t by) {
    Tensor& x = tensors_[t];
    if (t != block_input && made_again(ops_[x.made])) {
      x.first_need = x.again ? std::min(x.first_need, by) : by;
      x.again = true, x.last_need = std::max(x.last_need, by);
      if (std::holds_alternative<Collective>(ops_[x.made].shape)) need(same_[ops_[x.made].in[0]], x.made);
      return;
    }
    x.first_need = x.kept ? std::min(x.first_need, by) : by;
    x.kept = true;
  }
  /// They become their own gradient, and go when the head's matrix has had it.
  static void mark_logits(Tensor& x, Bytes logits) {
    x.name = "logits", x.bytes = logits, x.kept = true, x.first_need = x.made;
  }
  bool made_again(const Op& op) const {
    const Collective* c = std::get_if<Collective>(&op.shape);
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    return (c && c->forward == CollectiveOp::all_gather) ||
           (p && p->kind == PointwiseKind::gate && op.component == Component::mlp &&
            p_.glu_store == GluStore::recompute);
  }

  /// "attn.norm, statistics": what an operator keeps that is nobody's input or output.
  std::string own_name(const Op& op) const {
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    const char* what = std::holds_alternative<Norm>(op.shape)     ? "statistics"
                       : std::holds_alternative<Lookup>(op.shape) ? "ids"
                       : std::holds_alternative<Loss>(op.shape)   ? "log-sum-exps"
                       : p && p->kind == PointwiseKind::dropout   ? "mask"
                       : p                                        ? "logits and gates"
                       : p_.attention == AttentionImpl::flash     ? "log-sum-exps"
                                                                  : "scores";
    return fmt::format("{}, {}", op.name, what);
  }
  bool is_core_again(const Op& op) const {
    return p_.training() && core_again_ && std::holds_alternative<Attention>(op.shape);
  }
  void add_own(std::vector<Alive>& all, std::size_t until) const {
    for (std::size_t i = 0; i <= until; ++i) {
      const bool counted = p_.training() && ops_[i].component != Component::position && !is_core_again(ops_[i]);
      if (counted) all.push_back({own_name(ops_[i]), llmcalc::kept(ops_[i].shape, p_)});
    }
  }

  /// Gradients that an operator's backward pass makes. A sum's gradient is its first input's under another name, and is
  /// shared with the second; a branch that dropout masks in place needs one of its own.
  void pass_on(std::size_t now, Flags& gradient) const {
    const Op& op = ops_[now];
    if (output_of(now) == none || std::holds_alternative<Lookup>(op.shape) || std::holds_alternative<Loss>(op.shape))
      return;
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    const bool sum = p && p->kind == PointwiseKind::add;
    for (const std::size_t t : inputs_of(now)) {
      if (gradient[t] || tensors_[t].bytes == Bytes()) continue;
      const bool shared = sum && !tensors_[t].masked, first = t == same_[op.in[0]];
      if (shared && first) gradient[t] = gradient[op.out], gradient[op.out] = false;
      if (!shared) gradient[t] = true;
    }
  }

  /// Kept tensors, and gradients, while operator `now` runs backward.
  std::vector<Alive> alive_in_backward(std::size_t now, const Flags& gradient) const {
    std::vector<Alive> all;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const Tensor& x = tensors_[t];
      if (x.kept && x.first_need <= now) all.push_back({x.name, x.bytes});
      if (x.again && x.first_need <= now && now <= x.last_need) all.push_back({x.name + ", again", x.bytes});
      if (gradient[t]) all.push_back({"gradient of " + x.name, x.bytes});
    }
    add_own(all, now);
    return all;
  }
  /// While a core that was not kept runs once more: before its inputs have gradients, its output made anew if it is
  /// gone.
  std::vector<Alive> running_again(std::size_t now, const Flags& gradient) const {
    std::vector<Alive> all = alive_in_backward(now, gradient);
    const Tensor& out = tensors_[output_of(now)];
    all.push_back({std::string(ops_[now].name) + " run again", llmcalc::kept(ops_[now].shape, p_)});
    if (!(out.kept && out.first_need <= now)) all.push_back({out.name + ", again", out.bytes});
    return all;
  }

  static void keep_worse(std::vector<Alive>& worst, std::vector<Alive> all) {
    if (total(all) > total(worst)) worst = std::move(all);
  }
  void keep_worst(std::vector<Alive>& worst, std::vector<Alive> all, std::size_t now, bool is_backward) const {
    const Op& op = ops_[now];
    const Bytes again = is_core_again(op) ? llmcalc::kept(op.shape, p_) : Bytes();
    all.push_back({std::string(op.name) + " while it runs", scratch(op.shape, p_, is_backward) + again});
    keep_worse(worst, std::move(all));
  }

  const OpList& ops_;
  Pricing p_;
  bool core_again_;
  std::vector<Tensor> tensors_ = std::vector<Tensor>(max_tensors);
  std::array<std::size_t, max_tensors> same_{};
  std::size_t result_ = block_input;
};

std::string kind_name(const LayerKind& k) {
  return fmt::format("{}{}block", k.experts ? "experts " : "", k.linear ? "linear " : k.windowed ? "windowed " : "");
}

/// What one kind of segment adds, and its worst moments.
struct Part {
  std::string name;
  LayerKind kind;
  Bytes kept, input;
  std::vector<Alive> forward, backward;
};

Part part(const Segment& s, const Plan& plan, Bytes logits) {
  const Walk w(s, pricing(plan, Phase::training), plan.recompute == Recompute::selective,
               s.kind == SegmentKind::head ? logits : Bytes());
  Part p{s.kind == SegmentKind::block  ? kind_name(s.layer)
         : s.kind == SegmentKind::head ? "head"
                                       : "embedding",
         s.layer,
         total(w.kept()),
         w.input(),
         w.forward(),
         w.backward()};
  if (plan.recompute == Recompute::full && s.kind == SegmentKind::block)
    p.forward.push_back({"gradient of its output", w.output()});
  return p;
}

const std::vector<Alive>& worse(const Part& p) {
  return total(p.forward) >= total(p.backward) ? p.forward : p.backward;
}

/// "attn.q of the head": what is alive in the segment at work; nothing that is empty.
void append(std::vector<Alive>& to, const std::vector<Alive>& from, const std::string& where) {
  for (const Alive& a : from)
    if (a.bytes != Bytes()) to.push_back({where + ": " + a.name, a.bytes});
}

/// What the layers before number `layer` keep, kind by kind.
std::vector<Alive> kept_before(const Arch& arch, const std::vector<Part>& blocks, const Plan& plan, Count layer) {
  std::vector<Alive> all;
  const LayerKinds kinds = layer_kinds(arch);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    Count n = 0;
    for (Count i = 0; i < layer; ++i) n += kind_index(kinds, i) == k;
    const Part& p = blocks[k];
    all.push_back(
        {fmt::format("kept by {} x {}", n, p.name), n * (plan.recompute == Recompute::full ? p.input : p.kept)});
  }
  return all;
}

}  // namespace

std::vector<Alive> alive_in_training(const Setting& s) {
  const Bytes logits(std::get<Count>(s.row("memory.logits_bytes")->value));
  std::vector<Part> parts;
  for_each_operator(s.arch(), s.plan(), s.layout(), training_step(s.plan()), [&](const OperatorRow& row) {
    if (row.index == 0) parts.push_back(part(row.segment, s.plan(), logits));
  });
  const std::vector<Part> blocks(parts.begin() + 1, parts.end() - 1);
  std::vector<Alive> worst;
  append(worst, parts.front().forward, "embedding");
  const auto try_moment = [&](Count layer, const Part& p) {
    std::vector<Alive> all;
    std::vector<Alive> before = kept_before(s.arch(), blocks, s.plan(), layer);
    before.insert(before.begin(), {"kept by the embedding", parts.front().kept});
    for (const Alive& a : before)
      if (a.bytes != Bytes()) all.push_back(a);
    append(all, worse(p), p.name);
    if (total(all) > total(worst)) worst = std::move(all);
  };
  for (const Part& p : blocks) try_moment(p.kind.last, p);  // the last of a kind has most before it
  try_moment(s.arch().layers, parts.back());
  return worst;
}

std::vector<Alive> alive_in_inference(const Setting& s) {
  const Plan& plan = s.plan();
  std::vector<Alive> worst;
  const auto run = [&](const Step& step, Phase phase, const char* name) {
    for_each_operator(s.arch(), plan, s.layout(), step, [&](const OperatorRow& row) {
      if (row.index > 0) return;
      std::vector<Alive> all;
      append(all, Walk(row.segment, pricing(plan, phase), false).forward(), name);
      if (total(all) > total(worst)) worst = std::move(all);
    });
  };
  const Count context = plan.prompt + plan.generate;
  run(prefill_step(plan, plan.prompt), Phase::prefill, "prefill");
  if (plan.kv_cache)
    run(decode_step(plan, context), Phase::decode, "decode");
  else
    run(prefill_step(plan, context), Phase::prefill, "last step");
  return worst;
}

Terms alive_terms(const std::vector<Alive>& all) {
  Terms t{{{"b_i", "bytes of each tensor alive at the worst moment", ""}}, {}};
  for (const Alive& a : all) t.rows.push_back({a.name, {number_text(a.bytes.value)}});
  return t;
}

}  // namespace llmcalc::explain
