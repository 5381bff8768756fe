#include "calc/block/recurrent.hpp"

namespace llmcalc {
namespace {

/// Builds one recurrence; heads are sharded across tensor-parallel ranks.
class Recurrence {
 public:
  Recurrence(SegmentBuilder& b, const LayerKind& kind, TensorId x)
      : b_(b), r_(b.mixer().recurrent), shares_onward_(kind.shares_kv), x_(x) {}

  /// Hk query and key heads of width dk, Hv value heads of width dv. The core's parameters are A_log and dt_bias, 2
  /// Hv in total.
  TensorId gated_delta_net() {
    const Count keys = mul(r_.key_heads, r_.key_dim);
    const TensorId q = convolved("delta.q", "delta.q_conv", keys, r_.key_dim);
    const TensorId k = convolved("delta.k", "delta.k_conv", keys, r_.key_dim);
    const TensorId v = convolved("delta.v", "delta.v_conv", r_.width(), r_.head_dim);
    const TensorId decay = projected("delta.decay", r_.heads, 1), beta = projected("delta.beta", r_.heads, 1);
    const LinearAttention state = core(StateRule::delta, mul(2, r_.heads), mul(2, r_.heads));
    const TensorId o = b_.add("delta.core", Component::attention, state, Split::heads, {q, k, v, decay, beta});
    const TensorId z = projected("delta.gate", r_.width(), r_.head_dim);
    return out("delta.out", gated("delta.gate_mul", z, head_norm("delta.o_norm", o)));
  }

  /// H heads of width D throughout, with per-channel decays from a low-rank projection. A_log (one per head) and
  /// dt_bias (one per channel) are parameters of the core.
  TensorId kimi_delta() {
    const Count w = r_.width(), d = r_.head_dim;
    const TensorId q = convolved("kda.q", "kda.q_conv", w, d), k = convolved("kda.k", "kda.k_conv", w, d);
    const TensorId v = convolved("kda.v", "kda.v_conv", w, d);
    const TensorId decay = through_rank("kda.decay_down", "kda.decay_up");
    const TensorId beta = projected("kda.beta", r_.heads, 1);
    const Count logarithms = r_.decays > 0 ? r_.decays : r_.heads;
    const LinearAttention state = core(StateRule::delta, add(w, r_.heads), add(w, logarithms));
    const TensorId o = b_.add("kda.core", Component::attention, state, Split::heads, {q, k, v, decay, beta});
    const TensorId z = r_.full_rank_gate ? projected("kda.gate", w, d) : through_rank("kda.gate_down", "kda.gate_up");
    return out("kda.out", gated("kda.gate_mul", z, head_norm("kda.o_norm", o)));
  }

  /// I channels, each with a state of size N. The step size comes from a low-rank projection; B and C are shared by
  /// all channels; Jamba normalizes all three. A_log (I N) and D (I) are parameters of the core. Heads of P channels
  /// share a step, an A_log and a D (PLaMo 2).
  TensorId mamba() {
    const Count i = r_.width(), h = r_.heads, n = r_.key_dim, p = r_.head_dim;
    const TensorId x = convolved("ssm.x", "ssm.x_conv", i, p);
    const TensorId low =
        b_.linear("ssm.select", Component::attention, Split::row, x, i, add(r_.rank, mul(2, n)), false, p);
    const TensorId rank = inner_norm("ssm.step_norm", r_.rank, low);
    const TensorId keys = inner_norm("ssm.key_norm", n, low), queries = inner_norm("ssm.query_norm", n, low);
    const TensorId step = b_.linear("ssm.step", Component::attention, Split::column, rank, r_.rank, h, true);
    const LinearAttention state = core(StateRule::state_space, h, add(mul(h, p > 1 ? 1 : n), h));
    const Inputs shared = r_.inner_norms ? Inputs{x, keys, queries, step} : Inputs{x, low, step};
    const TensorId o = b_.add("ssm.core", Component::attention, state, Split::heads, shared);
    return out("ssm.out", gated("ssm.gate_mul", projected("ssm.gate", i, p), o));
  }

  /// H heads of width P; B and C of width N are shared by the heads of a group. The core's parameters are A_log, D
  /// and dt_bias, 3 H in total. The norm over all heads follows the gate.
  TensorId mamba2() {
    const Count w = r_.width(), shared = mul(2, r_.key_heads, r_.key_dim);
    const TensorId x = convolved("ssm.x", "ssm.x_conv", w, r_.head_dim);
    const TensorId select = convolved("ssm.select", "ssm.select_conv", shared, mul(2, r_.key_dim));
    const TensorId step = projected("ssm.step", r_.heads, 1);
    const LinearAttention state = core(StateRule::state_space, r_.heads, mul(3, r_.heads));
    const TensorId o = b_.add("ssm.core", Component::attention, state, Split::heads, {x, select, step});
    TensorId y = gated("ssm.gate_mul", projected("ssm.gate", w, r_.head_dim), o);
    if (r_.gated_norm)
      y = b_.add("ssm.norm", Component::attention, Norm{b_.tokens(), w, w}, Split::width, y, r_.head_dim);
    return out("ssm.out", y);
  }

  /// H heads of width N throughout. Six token shifts, each a mix of the token and its predecessor, are the inputs of
  /// the projections to receptance, key and value and of the low-rank projections to decay, in-context learning rate
  /// and gate. If an earlier layer's values are mixed in, their mixing weight is another low-rank projection. The
  /// state loses its component along the removal key, at a rate set by the learning rate, and gains the value along
  /// the other key. Both keys come from one projection: the removal key is multiplied by learned weights k_k and
  /// L2-normalized per head, and the other key is gated by the learning rate (k_a). A LayerNorm per head, the token's
  /// bonus (r_k) and the gate follow. Kernels that read the decay or the learning rate compute it from the respective
  /// projection.
  TensorId rwkv7() {
    const Count w = r_.width(), d = r_.head_dim;
    x_ = mixes("rwkv.shift", 6);
    const TensorId r = projected("rwkv.r", w, d), k = projected("rwkv.k", w, d), v = mixed_values();
    const TensorId decay = ranked({"rwkv.decay_down", "rwkv.decay_act", "rwkv.decay_up", r_.rank, true});
    const TensorId rate = ranked({"rwkv.step_down", "", "rwkv.step_up", r_.step_rank, true});
    const TensorId removed = each_head("rwkv.removed_key", k, false);
    const TensorId key = weighted("rwkv.key_gate", PointwiseKind::gate, {rate, k});
    LinearAttention state = core(StateRule::removal, mul(3, w), 0);
    state.shares_values = shares_onward_;
    const TensorId y =
        b_.add("rwkv.core", Component::attention, state, Split::heads, {r, key, v, decay, removed, rate});
    const TensorId o = each_head("rwkv.o_norm", y, true);
    const TensorId g = ranked({"rwkv.gate_down", "rwkv.gate_act", "rwkv.gate_up", r_.gate_rank, false});
    return out("rwkv.out", weighted("rwkv.gate_mul", PointwiseKind::bonus, {o, r, key, v, g}));
  }

  /// y = W (c * conv(b * x)); b, c and x are projections of the input.
  TensorId short_convolution() {
    const Count w = r_.width();
    const TensorId b = projected("conv.in_gate", w, 1), c = projected("conv.out_gate", w, 1);
    const TensorId x = product("conv.in_mul", b, projected("conv.x", w, 1));
    const Step& s = b_.step();
    const Convolution conv{s.sequences, s.queries, w, r_.taps, r_.convolution_bias, false};
    const TensorId y = b_.add("conv.core", Component::attention, conv, Split::width, x);
    return out("conv.out", product("conv.out_mul", c, y));
  }

  /// W channels in H blocks of P. A projection and a convolution without activation compute x. Two block-diagonal
  /// matrices of P x P blocks compute the input gate and the recurrence gate from x; their biases and the decay's
  /// parameter, 3 W in total, are parameters of the core. The core's result is multiplied by an activation of another
  /// projection of the input.
  TensorId rg_lru() {
    const Count w = r_.width(), p = r_.head_dim;
    const Step& s = b_.step();
    const TensorId gate = biased("lru.gate", w, p);
    const Convolution conv{s.sequences, s.queries, w, r_.taps, r_.convolution_bias, false};
    const TensorId x = b_.add("lru.x_conv", Component::attention, conv, Split::width, biased("lru.x", w, p), p);
    const TensorId in = each_block("lru.in_gate", x), decay = each_block("lru.decay", x);
    const LinearAttention state = core(StateRule::diagonal, mul(2, w), mul(3, w));
    const TensorId h = b_.add("lru.core", Component::attention, state, Split::heads, {x, in, decay});
    const TensorId y = gated("lru.gate_mul", gate, h);
    return b_.linear("lru.out", Component::attention, Split::row, y, w, b_.arch().hidden, true, p);
  }

  /// H heads of width N throughout. Token shift: receptance, key, value, gate and, in RWKV-6, decay each read a mix
  /// of the token and its predecessor. RWKV-6 computes the mixing weights (ddlerp, data-dependent linear
  /// interpolation) and the decay from the token, each through a low-rank projection; in RWKV-5 both are parameters.
  /// Learned decays and the bonus are parameters of the core. A LayerNorm per head and the gate follow.
  TensorId rwkv6() {
    const Count w = r_.width(), d = r_.head_dim;
    const bool moves = r_.mix_rank > 0;
    x_ = moves ? moved_mixes() : mixes("rwkv.shift", 4);
    const TensorId r = projected("rwkv.r", w, d), k = projected("rwkv.k", w, d), v = projected("rwkv.v", w, d);
    Inputs in{r, k, v};
    if (moves) in.push(ranked({"rwkv.decay_down", "rwkv.decay_act", "rwkv.decay_up", r_.rank, true}));
    const LinearAttention state = core(StateRule::state_space, moves ? w : 0, mul(moves ? 1 : 2, w));
    const TensorId o =
        each_head("rwkv.o_norm", b_.add("rwkv.core", Component::attention, state, Split::heads, in), true);
    return out("rwkv.out", gated("rwkv.gate_mul", projected("rwkv.gate", w, d), o));
  }

  /// H heads with keys of width N and values of width P: an input gate and a forget gate (`decay`) per head, with
  /// biases. The state has one extra value for normalization. A LayerNorm per head without bias and a gate follow.
  TensorId mlstm() {
    const Count keys = mul(r_.heads, r_.key_dim), w = r_.width();
    const TensorId q = projected("mlstm.q", keys, r_.key_dim), k = projected("mlstm.k", keys, r_.key_dim);
    const TensorId v = projected("mlstm.v", w, r_.head_dim);
    const TensorId in = biased("mlstm.in_gate", r_.heads, 1), decay = biased("mlstm.decay", r_.heads, 1);
    LinearAttention state = core(StateRule::state_space, mul(2, r_.heads), 0);
    state.normalized = true;
    const TensorId h = b_.add("mlstm.core", Component::attention, state, Split::heads, {q, k, v, in, decay});
    const Norm each{
        .rows = mul(b_.tokens(), r_.heads), .width = r_.head_dim, .weights = w, .centered = true, .per_head = true};
    const TensorId o = b_.add("mlstm.o_norm", Component::attention, each, Split::heads, h, r_.heads);
    return out("mlstm.out", gated("mlstm.gate_mul", projected("mlstm.gate", w, r_.head_dim), o));
  }

 private:
  LinearAttention core(StateRule rule, Count gates, Count weights) const {
    const Step& s = b_.step();
    return {s.sequences, r_.heads, s.queries, r_.head_dim, r_.key_heads,  r_.key_dim,
            rule,        r_.chunk, gates,     weights,     r_.state_bytes};
  }
  TensorId projected(std::string_view name, Count width, Count unit) {
    return b_.linear(name, Component::attention, Split::column, x_, b_.arch().hidden, width, false, unit);
  }
  TensorId biased(std::string_view name, Count width, Count unit) {
    return b_.linear(name, Component::attention, Split::column, x_, b_.arch().hidden, width, true, unit);
  }
  /// y = x W' for blocks of channels, with a separate matrix per block.
  TensorId each_block(std::string_view name, TensorId x) {
    const Linear l{.rows = mul(b_.tokens(), r_.heads), .in = r_.head_dim, .out = r_.head_dim, .groups = r_.heads};
    return b_.add(name, Component::attention, l, Split::heads, x);
  }
  TensorId convolved(std::string_view name, std::string_view conv, Count width, Count unit) {
    const Step& s = b_.step();
    return b_.add(conv, Component::attention,
                  Convolution{s.sequences, s.queries, width, r_.taps, r_.convolution_bias, true}, Split::width,
                  projected(name, width, unit), unit);
  }
  TensorId through_rank(std::string_view down, std::string_view up) {
    const TensorId low = b_.linear(down, Component::attention, Split::tokens, x_, b_.arch().hidden, r_.rank, false);
    return b_.linear(up, Component::attention, Split::column, low, r_.rank, r_.width(), false, r_.head_dim);
  }
  /// RMSNorm over a `width`-wide part of `low`; returns `low` unchanged if there are no inner norms.
  TensorId inner_norm(std::string_view name, Count width, TensorId low) {
    return r_.inner_norms ? b_.add(name, Component::attention, Norm{b_.tokens(), width, width}, Split::tokens, low)
                          : low;
  }
  /// RMSNorm of every head's output, with weights shared across heads.
  TensorId head_norm(std::string_view name, TensorId o) {
    return b_.add(name, Component::attention, Norm{mul(b_.tokens(), r_.heads), r_.head_dim, r_.head_dim}, Split::heads,
                  o, r_.heads);
  }
  TensorId gated(std::string_view name, TensorId gate, TensorId y) {
    return element(name, PointwiseKind::gate, gate, y);
  }
  TensorId product(std::string_view name, TensorId a, TensorId y) {
    return element(name, PointwiseKind::multiply, a, y);
  }
  TensorId element(std::string_view name, PointwiseKind kind, TensorId a, TensorId y) {
    return b_.add(name, Component::attention, Pointwise{.kind = kind, .rows = b_.tokens(), .width = r_.width()},
                  Split::width, {a, y}, r_.head_dim);
  }
  TensorId mixes(std::string_view name, Count n) {
    const Step& s = b_.step();
    return b_.add(name, Component::attention, Shift{s.sequences, s.queries, b_.arch().hidden, n}, Split::inside, x_);
  }
  /// RWKV-6's five token shifts. Their mixing coefficients are learned vectors plus a low-rank projection of a
  /// preliminary token shift.
  TensorId moved_mixes() {
    const Step& s = b_.step();
    constexpr Count n = 5;  // decay, key, value, receptance, gate
    const Count d = b_.arch().hidden, rank = r_.mix_rank, all = mul(n, rank), t = b_.tokens();
    const Shift first{.sequences = s.sequences, .queries = s.queries, .width = d, .mixes = 1, .peeks = true};
    const Shift then{.sequences = s.sequences, .queries = s.queries, .width = d, .mixes = n, .moved = true};
    const TensorId x = b_.add("rwkv.shift", Component::attention, first, Split::inside, x_);
    TensorId low = b_.linear("rwkv.mix_down", Component::attention, Split::inside, x, d, all, false);
    const Pointwise act{.kind = PointwiseKind::activate, .rows = t, .width = all};
    low = b_.add("rwkv.mix_act", Component::attention, act, Split::inside, low);
    const Linear up{.rows = mul(n, t), .in = rank, .out = d, .groups = n};
    const TensorId moves = b_.add("rwkv.mix_up", Component::attention, up, Split::inside, low);
    return b_.add("rwkv.mix", Component::attention, then, Split::inside, {x_, moves});
  }
  /// RWKV-7's values: the layer's own values, blended with an earlier layer's values if the layer reads them.
  TensorId mixed_values() {
    const TensorId v = projected("rwkv.v", r_.width(), r_.head_dim);
    if (!r_.reads_values()) return v;
    const TensorId share = ranked({"rwkv.value_down", "", "rwkv.value_up", r_.value_rank, true});
    const Pointwise blend{.kind = PointwiseKind::blend, .rows = b_.tokens(), .width = r_.width()};
    return b_.add("rwkv.value_mix", Component::attention, blend, Split::width, {v, b_.outside(), share}, r_.head_dim);
  }
  /// Names and sizes of a low-rank projection from the mixed tokens, which are replicated, to the sharded heads. An
  /// empty `act` means no activation.
  struct LowRank {
    std::string_view down, act, up;
    Count rank;
    bool bias;
  };
  TensorId ranked(const LowRank& n) {
    const Pointwise act{.kind = PointwiseKind::activate, .rows = b_.tokens(), .width = n.rank};
    TensorId low = b_.linear(n.down, Component::attention, Split::inside, x_, b_.arch().hidden, n.rank, false);
    if (!n.act.empty()) low = b_.add(n.act, Component::attention, act, Split::inside, low);
    return b_.linear(n.up, Component::attention, Split::column, low, n.rank, r_.width(), n.bias, r_.head_dim);
  }
  /// Norm of every head with separate weights: LayerNorm with bias, or L2 normalization.
  TensorId each_head(std::string_view name, TensorId x, bool centered) {
    const Norm n{.rows = mul(b_.tokens(), r_.heads),
                 .width = r_.head_dim,
                 .weights = mul(centered ? 2 : 1, r_.width()),
                 .centered = centered,
                 .per_head = true};
    return b_.add(name, Component::attention, n, Split::heads, x, r_.heads);
  }
  /// An element-wise operator with one parameter per channel.
  TensorId weighted(std::string_view name, PointwiseKind kind, Inputs in) {
    const Count w = r_.width();
    const Pointwise p{.kind = kind, .rows = b_.tokens(), .width = w, .weights = w, .per_number = true};
    return b_.add(name, Component::attention, p, Split::width, in, r_.head_dim);
  }
  TensorId out(std::string_view name, TensorId y) {
    return b_.linear(name, Component::attention, Split::row, y, r_.width(), b_.arch().hidden, false, r_.head_dim);
  }

  SegmentBuilder& b_;
  const Recurrent& r_;
  bool shares_onward_;
  TensorId x_;
};

}  // namespace

TensorId recurrence(SegmentBuilder& b, const LayerKind& kind, TensorId x) {
  Recurrence r(b, kind, x);
  switch (b.mixer().recurrent.kind) {
    case RecurrentKind::gated_delta_net:
      return r.gated_delta_net();
    case RecurrentKind::kimi_delta:
      return r.kimi_delta();
    case RecurrentKind::mamba:
      return r.mamba();
    case RecurrentKind::mamba2:
      return r.mamba2();
    case RecurrentKind::rwkv7:
      return r.rwkv7();
    case RecurrentKind::short_convolution:
      return r.short_convolution();
    case RecurrentKind::rg_lru:
      return r.rg_lru();
    case RecurrentKind::rwkv6:
      return r.rwkv6();
    case RecurrentKind::mlstm:
      return r.mlstm();
    case RecurrentKind::none:
      break;
  }
  return x;
}

}  // namespace llmcalc
