// Tensors saved for backward and peaks of live tensors, compared with a simulation that uses only the times at which
// each tensor is produced, read and last read.

#include "calc/operator/liveness.hpp"

#include <array>
#include <map>
#include <set>
#include <vector>

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// ---- Independent simulation: storages and their lifetimes.

struct Options {
  Pricing price;
};

/// Inputs (bits 0 to 3) and output (bit 4) that the backward pass of an operator reads: formulas of Korthikanti et al.
/// 2022, section 4.
unsigned backward_reads(const Op& op, const Options& o) {
  if (std::holds_alternative<Linear>(op.shape) || std::holds_alternative<Norm>(op.shape)) return 1;
  if (std::holds_alternative<Attention>(op.shape)) return o.price.attention == AttentionImpl::flash ? 31 : 15;
  if (std::holds_alternative<LinearAttention>(op.shape)) return 7;
  const Pointwise* p = std::get_if<Pointwise>(&op.shape);
  if (p == nullptr) return 0;
  if (p->kind == PointwiseKind::multiply || p->kind == PointwiseKind::gate) return 3;
  if (p->kind == PointwiseKind::add_own) return 2;
  return p->kind == PointwiseKind::activate || p->kind == PointwiseKind::combine ? 1 : 0;
}

/// Tensors of one operator list; in-place collectives share their input's storage.
class Simulation {
 public:
  Simulation(const OpList& ops, const Options& o, Count input) : ops_(ops), o_(o) {
    root_[block_input] = block_input;
    size_[block_input] = bytes_of(o.price.activation, input).value;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Op& op = ops[i];
      if (!op.in_place()) make(op, static_cast<int>(i));
      for (const TensorId t : reads(op)) last_read_[root_[t]] = static_cast<int>(i);
    }
    result_ = block_input;
    for (const Op& op : ops)
      if (!op.in_place()) result_ = root_[op.out];
    if (o.price.training()) find_saved();
  }

  Count saved() const {
    Count n = 0;
    for (const int t : saved_) n += size_.at(t);
    for (const Op& op : ops_) n += own(op);
    return n;
  }

  Count forward() const {
    Count live = size_.at(block_input), most = live;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = ops_[i];
      const int out = op.in_place() ? -1 : root_.at(op.out);
      if (out >= 0 && made_.at(out) == static_cast<int>(i)) live += size_.at(out);
      live += own(op);
      most = std::max(most, live + scores_in_passing(op));
      std::set<int> done;
      for (const TensorId t : reads(op)) done.insert(root_.at(t));
      if (out >= 0) done.insert(out);
      for (const int t : done) {
        const bool read_later = last_read_.count(t) != 0 && last_read_.at(t) > static_cast<int>(i);
        if (!read_later && saved_.count(t) == 0 && t != result_) live -= size_.at(t);
      }
    }
    return most;
  }

  Count backward() {
    Count live = saved(), most = 0;
    int next = 0;
    std::map<int, int> gradient;  // storage to buffer
    std::map<int, Count> buffer;
    std::map<int, int> owners;
    const auto give = [&](int t, int b) { gradient[t] = b, ++owners[b]; };
    const auto fresh = [&](int t) { buffer[next] = size_.at(t), live += size_.at(t), give(t, next++); };
    const auto drop = [&](int t) {
      if (gradient.count(t) == 0) return;
      const int b = gradient[t];
      gradient.erase(t);
      if (--owners[b] == 0) live -= buffer[b];
    };
    fresh(result_);
    for (std::size_t i = ops_.size(); i-- > 0;) {
      const Op& op = ops_[i];
      const int out = op.in_place() ? -1 : root_.at(op.out);
      Count passing = scratch(op);
      if (dropped_core(op)) {  // recomputed before any gradient of its inputs
        const bool there = saved_.count(out) != 0 && first_need_.at(out) <= static_cast<int>(i);
        most = std::max(most, live + held(op.shape, o_.price).saved.value + (there ? 0 : size_.at(out)));
      }
      for (const int t : remade_again(i)) passing += size_.at(t);
      if (const Pointwise* p = std::get_if<Pointwise>(&op.shape); p && p->kind == PointwiseKind::dropout) {
        const int t = root_.at(op.in[0]);  // a masked gradient differs from the residual's
        if (gradient.count(t) != 0 && owners[gradient[t]] > 1) {
          drop(t);
          fresh(t);
        }
      } else if (is_sum(op)) {
        for (const TensorId t : reads(op))
          if (gradient.count(root_.at(t)) == 0) waits(op, t) ? fresh(root_.at(t)) : give(root_.at(t), gradient.at(out));
      } else if (is(PointwiseKind::add_own, op)) {
        give(root_.at(op.in[0]), gradient.at(out));
        for (const TensorId t : {op.in[1], op.in[2]})
          if (gradient.count(root_.at(t)) == 0) fresh(root_.at(t));
      } else if (!op.in_place() && !std::holds_alternative<Lookup>(op.shape)) {
        for (const TensorId t : reads(op))
          if (gradient.count(root_.at(t)) == 0) fresh(root_.at(t));
      }
      most = std::max(most, live + passing);
      if (out >= 0 && made_.at(out) == static_cast<int>(i)) drop(out);
      live -= own(op);
      for (const int t : saved_)
        if (first_need_.at(t) == static_cast<int>(i)) live -= size_.at(t);
    }
    return most;
  }

 private:
  static std::vector<TensorId> reads(const Op& op) {
    std::vector<TensorId> r;
    for (const TensorId t : op.in)
      if (t != no_tensor) r.push_back(t);
    return r;
  }
  static bool is(PointwiseKind kind, const Op& op) {
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    return p && p->kind == kind;
  }
  static bool is_sum(const Op& op) { return is(PointwiseKind::add, op); }
  /// Whether t's gradient is used after others have accumulated into the shared buffer: t is a sum's second input and
  /// was produced first.
  bool waits(const Op& op, TensorId t) const {
    return t == op.in[1] && root_.at(op.in[0]) != block_input && made_.at(root_.at(t)) < made_.at(root_.at(op.in[0]));
  }
  static const Collective* collective_call(const Op& op) { return std::get_if<Collective>(&op.shape); }
  /// A gather or scatter makes a tensor of another size; an all-reduce works in place.
  static bool resizes(const Collective& c) { return c.forward_on && c.forward != CollectiveOp::all_reduce; }

  void make(const Op& op, int i) {
    const Collective* c = collective_call(op);
    if (c && !resizes(*c)) {
      root_[op.out] = root_[op.in[0]];
      return;
    }
    root_[op.out] = op.out;
    made_[op.out] = i;
    size_[op.out] = bytes_of(o_.price.activation, out_elements(op.shape)).value;
    if (c && c->forward == CollectiveOp::all_gather) gathered_from_[op.out] = root_[op.in[0]];
    const Pointwise* p = std::get_if<Pointwise>(&op.shape);
    if (p && p->kind == PointwiseKind::gate && o_.price.glu_store == GluStore::recompute) product_.insert(op.out);
  }
  void find_saved() {
    for (const Op& op : ops_)  // the logits are priced by a separate convention
      if (std::holds_alternative<Loss>(op.shape)) size_[root_[op.in[0]]] = 0;
    for (std::size_t i = 0; i < ops_.size(); ++i)
      for (const int t : backward_needs(i)) {
        if (product_.count(t) != 0) continue;
        const int source = gathered_from_.count(t) != 0 ? gathered_from_[t] : t;
        if (saved_.insert(source).second) first_need_[source] = static_cast<int>(i);
      }
  }
  std::set<int> backward_needs(std::size_t i) const {
    std::set<int> r;
    const unsigned bits = backward_reads(ops_[i], o_);
    for (unsigned k = 0; k < Inputs::most; ++k)
      if ((bits >> k & 1U) != 0 && ops_[i].in[k] != no_tensor) r.insert(root_.at(ops_[i].in[k]));
    if ((bits & 16U) != 0) r.insert(root_.at(ops_[i].out));
    return r;
  }
  /// Unsaved tensors that backward reads: re-gathered or recomputed for this operator.
  std::set<int> remade_again(std::size_t i) const {
    std::set<int> r;
    for (const int t : backward_needs(i))
      if (gathered_from_.count(t) != 0 || product_.count(t) != 0) r.insert(t);
    return r;
  }
  bool dropped_core(const Op& op) const {
    return o_.price.recomputed.has(RecomputeModule::core) && std::holds_alternative<Attention>(op.shape);
  }
  Count own(const Op& op) const {
    if (!o_.price.training() || op.name == "embedding.positions" || dropped_core(op)) return 0;
    return held(op.shape, o_.price).saved.value;
  }
  Count one_scores(const Attention& a) const {
    return bytes_of(o_.price.activation, a.sequences * a.heads * a.queries * a.keys).value;
  }
  /// Naive scores that forward computes but does not save.
  Count scores_in_passing(const Op& op) const {
    const Attention* a = std::get_if<Attention>(&op.shape);
    if (a == nullptr || o_.price.attention == AttentionImpl::flash) return 0;
    if (!o_.price.training()) return one_scores(*a);
    return dropped_core(op) ? held(op.shape, o_.price).saved.value : 0;
  }
  /// Workspace in backward: the gradient of the scores, and the core's own tensors if they are recomputed.
  Count scratch(const Op& op) const {
    const Attention* a = std::get_if<Attention>(&op.shape);
    if (a == nullptr) return 0;
    const Count again = dropped_core(op) ? held(op.shape, o_.price).saved.value : 0;
    return again + (o_.price.attention == AttentionImpl::naive ? one_scores(*a) : 0);
  }

  const OpList& ops_;
  Options o_;
  std::map<int, int> root_, made_, last_read_, first_need_, gathered_from_;
  std::map<int, Count> size_;
  std::set<int> saved_, product_;
  int result_ = 0;
};

void same(const OpList& ops, const Options& o, Count input) {
  const Liveness l = liveness(ops, o.price, input);
  Simulation s(ops, o, input);
  if (o.price.training()) CHECK(l.saved.value == s.saved());
  CHECK(l.forward.value == s.forward());
  if (o.price.training()) CHECK(l.backward.value == s.backward());
  const WorstMoments w = worst_moments(ops, o.price, input);
  CHECK(w.forward.total() == l.forward);
  if (o.price.training()) CHECK(w.backward.total() == l.backward);
}

constexpr Count tokens = 6;  // 2 sequences of 3
const Step training{.sequences = 2, .queries = 3, .training = true};

/// Every kind of block, with small prime widths.
std::vector<std::pair<std::string, Arch>> variants() {
  std::vector<std::pair<std::string, Arch>> r{
      {"plain", prime_gqa()}, {"gated", prime_gated()}, {"mixture", prime_moe()}, {"latent", prime_latent()}};
  Arch a = prime_gated();
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  r.emplace_back("parallel", a);
  a.norms_per_layer = 2;
  r.emplace_back("parallel with two norms", a);
  a = prime_gated();
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  r.emplace_back("sandwich", a);
  a.norm_placement = NormPlacement::post;
  a.norms_per_layer = 2;
  r.emplace_back("post-norm", a);
  a.norm_placement = NormPlacement::output;
  r.emplace_back("output norm", a);
  a = prime_gated();
  a.qk_norm = QkNorm::per_head;
  r.emplace_back("qk-norm", a);
  a = prime_gated();
  a.linear_layers = LayerSet::all(1);
  r.emplace_back("linear attention", a);
  return r;
}

Pricing priced(AttentionImpl attention, Phase phase = Phase::training) {
  Pricing p;
  p.attention = attention;
  p.phase = phase;
  p.cached = phase != Phase::training;
  return p;
}

}  // namespace

TEST_CASE("saved bytes and peaks of a plain block match a hand count", "[cost][liveness]") {
  // Per token, 16 bits; D 13, 3 heads of width 5 over 1 KV head, F 17. Saved: x 13, n 13, q 15, k 5, v 5, o 15, y 13, m
  // 13, u 17, a 17 values = 126, and in float32 3 log-sum-exps and 2 x 2 statistics = 7.
  const OpList ops = first_block(prime_gqa(), training);
  const Liveness l = liveness(ops, priced(AttentionImpl::flash), tokens * 13);
  CHECK(l.saved == Bytes(tokens * (2 * 126 + 4 * 7)));
  CHECK(l.core == Bytes(tokens * 4 * 3));
  CHECK(l.input == Bytes(tokens * 2 * 13));
  CHECK(l.output == Bytes(tokens * 2 * 13));
  CHECK(l.keeps_input);
  // Forward: at the last sum all saved tensors, mlp.down's result and the block's: 13 each.
  CHECK(l.forward == l.saved + Bytes(tokens * 2 * 26));
  // Backward: mlp.down has the output's gradient and computes a's, 17, with all tensors still saved. Then u's gradient
  // replaces a, so the peak does not grow. Later the gradients of q, k, v and o add less than was freed.
  CHECK(l.backward == l.saved + Bytes(tokens * 2 * (13 + 17)));
}

TEST_CASE("the first input of every residual sum is produced before the second", "[cost][liveness]") {
  std::vector<std::pair<std::string, Arch>> all = variants();
  Arch both = prime_gated();
  both.recurrent = {.kind = RecurrentKind::short_convolution, .heads = 7, .head_dim = 1, .taps = 3};
  all.emplace_back("a recurrence beside attention", both);
  for (const auto& [name, arch] : all) {
    CAPTURE(name);
    for (const Op& op : first_block(arch, training)) {
      const Pointwise* p = std::get_if<Pointwise>(&op.shape);
      if (p != nullptr && p->kind == PointwiseKind::add) CHECK(op.in[0] < op.in[1]);
    }
  }
}

TEST_CASE("the branch that rejoins at the end of a shortcut block has a separate gradient", "[contract][liveness]") {
  Arch a = prime_moe();
  a.block = BlockKind::shortcut;
  a.norms_per_layer = 4;
  a.moe.layers = LayerSet::all(a.layers);
  for (const Count zero_experts : {0, 3}) {
    a.moe.zero_experts = zero_experts;
    for (const AttentionImpl attention : {AttentionImpl::naive, AttentionImpl::flash})
      same(first_block(a, training), {priced(attention)}, tokens * 13);
  }
}

TEST_CASE("saved tensors and both training peaks match the simulation", "[contract][liveness]") {
  for (const auto& [name, arch] : variants()) {
    CAPTURE(name);
    for (const AttentionImpl attention : {AttentionImpl::naive, AttentionImpl::flash}) {
      same(first_block(arch, training), {priced(attention)}, tokens * 13);
      Step fused = training;
      fused.fused_glu = true;
      Options o{priced(attention)};
      o.price.glu_store = GluStore::fused;
      same(first_block(arch, fused), o, tokens * 13);
    }
  }
}

TEST_CASE("the inference peak matches the simulation", "[contract][liveness]") {
  for (const auto& [name, arch] : variants()) {
    CAPTURE(name);
    for (const AttentionImpl attention : {AttentionImpl::naive, AttentionImpl::flash}) {
      const Options prefill{priced(attention, Phase::prefill)}, decode{priced(attention, Phase::decode)};
      same(first_block(arch, {.sequences = 2, .queries = 3, .fused_glu = true}), prefill, tokens * 13);
      same(first_block(arch, {.sequences = 2, .past = 4, .absorbed = true, .fused_glu = true}), decode, 2 * 13);
    }
  }
}

TEST_CASE("selective recomputation keeps the scores only while they are used", "[contract][liveness]") {
  for (const AttentionImpl attention : {AttentionImpl::naive, AttentionImpl::flash})
    for (const Count queries : {3, 96}) {  // 96: the scores outweigh the block
      Options o{priced(attention)};
      o.price.recomputed = RecomputeModule::core;
      const OpList ops = first_block(prime_gqa(), {.sequences = 2, .queries = queries, .training = true});
      const Count input = 2 * queries * 13;
      same(ops, o, input);
      const Liveness with = liveness(ops, priced(attention), input), without = liveness(ops, o.price, input);
      CHECK(without.saved + without.core == with.saved);
    }
}

TEST_CASE("a gated product that backward recomputes is live while it is used", "[contract][liveness]") {
  Step fused = training;
  fused.fused_glu = true;
  Options o{priced(AttentionImpl::flash)};
  o.price.glu_store = GluStore::recompute;
  same(first_block(prime_gated(), fused), o, tokens * 13);
  Arch narrow = prime_gated();
  narrow.mlp_width = 5;  // so that no later point is the peak
  same(first_block(narrow, fused), o, tokens * 13);
}

TEST_CASE("a branch with dropout has a separate gradient", "[contract][liveness]") {
  Step dropping = training;
  dropping.dropout = true;
  Options o{priced(AttentionImpl::flash)};
  o.price.dropout = true;
  same(first_block(prime_gqa(), dropping), o, tokens * 13);
}

TEST_CASE("the result of an all-reduce is live until it is read", "[contract][liveness]") {
  // 8 ranks, D 64: at attn.add the block's input, the sum and the result are live together, 3 x 64 values per token.
  const Options prefill{priced(AttentionImpl::flash, Phase::prefill)};
  const OpList ops = first_block(even(), {.sequences = 2, .queries = 3, .fused_glu = true}, {8, false});
  const Liveness l = liveness(ops, prefill.price, tokens * 64);
  CHECK(l.forward == Bytes(tokens * 2 * 3 * 64));
  same(ops, prefill, tokens * 64);
}

TEST_CASE("peaks under tensor parallelism match the simulation", "[contract][liveness]") {
  for (const Arch& arch : {even(), even_moe(), even_latent()})
    for (const Count ranks : {2, 8}) {
      CAPTURE(ranks, arch.has_experts(), arch.attention == AttentionKind::latent);
      same(first_block(arch, training, {ranks, false}), {priced(AttentionImpl::flash)}, tokens * 64);
    }
}

TEST_CASE("sequence parallelism saves shards and re-gathers them in backward", "[contract][liveness]") {
  const Step eight{.sequences = 2, .queries = 8, .training = true};
  for (const Count ranks : {2, 8}) {
    CAPTURE(ranks);
    same(first_block(even(), eight, {ranks, true}), {priced(AttentionImpl::flash)}, 16 * 64 / ranks);
  }
}

TEST_CASE("saved tensors of the embedding and the head match the simulation", "[contract][liveness]") {
  Arch a = prime_gqa();
  a.position = Position::learned;
  a.position_rows = 23;
  same(embedding_ops(a, training), {priced(AttentionImpl::flash)}, 0);
  same(head_ops(a, training), {priced(AttentionImpl::flash)}, tokens * 13);
  // 64-bit ids once for all readers
  CHECK(liveness(embedding_ops(a, training), priced(AttentionImpl::flash), 0).saved == Bytes(8 * tokens));
}
