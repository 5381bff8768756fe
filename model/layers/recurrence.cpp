// Recurrences, top to bottom: projections, convolutions, the state, a gate. Sources: calc/block/recurrent.hpp.

#include <utility>

#include "model/layers/mixer.hpp"

namespace llmcalc::model {
namespace {

/// One layer's recurrence on x; the last projection of x frees x.
class RecurrenceRun {
 public:
  RecurrenceRun(Pass& p, Value x) : p_(p), r_(p.mixer().recurrent), x_(std::move(x)) {}

  /// S = a S + k b (v - a S' k)', o = q' S, with a decay a and a strength b per head; norm(o) gated by silu(z).
  Value gated_delta_net() {
    Value q = convolved("delta.q", "delta.q_conv"), k = convolved("delta.k", "delta.k_conv");
    Value v = convolved("delta.v", "delta.v_conv");
    Value decay = p_.linear("delta.decay", x_), beta = p_.linear("delta.beta", x_);
    const StateLayout at{.kind = r_.kind,
                         .q = heads(0, r_.key_heads, r_.key_dim),
                         .k = heads(1, r_.key_heads, r_.key_dim),
                         .v = heads(2, r_.heads, r_.head_dim),
                         .decay = heads(3, r_.heads, 1),
                         .beta = heads(4, r_.heads, 1)};
    Value o = state("delta.core", StateRule::delta, mul(2, r_.heads), at,
                    {std::move(q), std::move(k), std::move(v), std::move(decay), std::move(beta)});
    Value z = p_.linear("delta.gate", std::exchange(x_, {}));
    o = head_norm("delta.o_norm", std::move(o));
    return p_.linear("delta.out", p_.silu_gate("delta.gate_mul", std::move(z), std::move(o)));
  }

  /// Like gated_delta_net(), with a decay per key channel and norm(o) gated by sigmoid(z).
  Value kimi_delta() {
    Value q = convolved("kda.q", "kda.q_conv"), k = convolved("kda.k", "kda.k_conv");
    Value v = convolved("kda.v", "kda.v_conv");
    Value decay = through_rank("kda.decay_down", "kda.decay_up", x_), beta = p_.linear("kda.beta", x_);
    const HeadPart row = heads(0, r_.heads, r_.head_dim);
    StateLayout at{.kind = r_.kind, .q = row, .k = row, .v = row, .decay = row, .beta = heads(4, r_.heads, 1)};
    at.k.tensor = 1, at.v.tensor = 2, at.decay.tensor = 3;
    Value o = state("kda.core", StateRule::delta, add(r_.width(), r_.heads), at,
                    {std::move(q), std::move(k), std::move(v), std::move(decay), std::move(beta)});
    Value x = std::exchange(x_, {});
    Value z = r_.full_rank_gate ? p_.linear("kda.gate", std::move(x))
                                : through_rank("kda.gate_down", "kda.gate_up", std::move(x));
    o = head_norm("kda.o_norm", std::move(o));
    return p_.linear("kda.out", p_.sigmoid_gate("kda.gate_mul", std::move(z), std::move(o)));
  }

  /// S = e^(-A t) S + t B x, y = C' S + D x, separately for every channel x, with its own step t; B, C and the low-rank
  /// input of t are projections of all channels.
  Value mamba() {
    Value x = convolved("ssm.x", "ssm.x_conv");
    Value low = p_.linear("ssm.select", x);
    if (r_.inner_norms) return normed_mamba(std::move(x), std::move(low));
    Value step = p_.linear("ssm.step", low);
    const StateLayout at{.kind = r_.kind,
                         .q = {1, add(r_.rank, r_.key_dim), low.width, 0},
                         .k = {1, r_.rank, low.width, 0},
                         .v = heads(0, r_.heads, r_.head_dim),
                         .decay = heads(2, r_.heads, 1),
                         .beta = {}};
    Value y = state("ssm.core", StateRule::state_space, r_.heads, at, {std::move(x), std::move(low), std::move(step)});
    return gated_out(std::move(y));
  }

  /// Like mamba(), with norms of the step's low-rank input, of B and of C.
  Value normed_mamba(Value x, Value low) {
    const Count all = low.width, rows = low.rows, n = r_.key_dim;
    Value rank = p_.norm("ssm.step_norm", low, {.rows = rows, .width = r_.rank}, all);
    Value keys = p_.norm("ssm.key_norm", low, {.rows = rows, .width = n}, all, r_.rank);
    Value queries = p_.norm("ssm.query_norm", std::move(low), {.rows = rows, .width = n}, all, r_.rank + n);
    Value step = p_.linear("ssm.step", std::move(rank));
    const StateLayout at{.kind = r_.kind,
                         .q = {2, 0, n, 0},
                         .k = {1, 0, n, 0},
                         .v = heads(0, r_.heads, r_.head_dim),
                         .decay = heads(3, r_.heads, 1),
                         .beta = {}};
    Value y = state("ssm.core", StateRule::state_space, r_.heads, at,
                    {std::move(x), std::move(keys), std::move(queries), std::move(step)});
    return gated_out(std::move(y));
  }

  /// Like mamba(), for heads of channels that share a step and A; B and C are the keys and queries of a group of heads.
  Value mamba2() {
    const Count key_width = mul(r_.key_heads, r_.key_dim);
    Value x = convolved("ssm.x", "ssm.x_conv"), select = convolved("ssm.select", "ssm.select_conv");
    Value step = p_.linear("ssm.step", x_);
    const StateLayout at{.kind = r_.kind,
                         .q = {1, key_width, select.width, r_.key_dim},
                         .k = {1, 0, select.width, r_.key_dim},
                         .v = heads(0, r_.heads, r_.head_dim),
                         .decay = heads(2, r_.heads, 1),
                         .beta = {}};
    Value y =
        state("ssm.core", StateRule::state_space, r_.heads, at, {std::move(x), std::move(select), std::move(step)});
    return gated_out(std::move(y));
  }

  /// S = a S - b (r' S) + k v', o = q' S, all inputs from token shifts. r is k, L2-normalized, and k is gated by the
  /// learning rate of b. Then a norm per head, the token's own bonus, and a gate. A layer that does not blend in an
  /// earlier layer's values may share its own values with later layers.
  Value rwkv7() {
    x_ = p_.shift("rwkv.shift", std::move(x_), 6);
    Value q = mixed("rwkv.r", for_query), k = mixed("rwkv.k", for_key), v = mixed_values();
    Value decay = p_.tanh("rwkv.decay_act", mixed("rwkv.decay_down", for_decay));
    decay = p_.linear("rwkv.decay_up", std::move(decay));
    Value rate = p_.linear("rwkv.step_up", mixed("rwkv.step_down", for_step));
    Value removed = p_.unit("rwkv.removed_key", k, r_.heads);
    k = p_.gate_key("rwkv.key_gate", rate, std::move(k));
    const auto at = [&](std::size_t tensor) {
      HeadPart part = heads(0, r_.heads, r_.head_dim);
      part.tensor = tensor;
      return part;
    };
    const StateLayout layout{r_.kind, at(0), at(1), at(2), at(3), at(5), at(4)};
    if (p_.kind().shares_kv) p_.share_onward({}, v);
    Value o = state("rwkv.core", StateRule::removal, mul(3, r_.width()), layout,
                    {q, k, v, std::move(decay), std::move(removed), std::move(rate)});
    const Norm each{.rows = mul(o.rows, r_.heads), .width = r_.head_dim, .centered = true, .per_head = true};
    o = p_.output_norm("rwkv.o_norm", std::move(o), each, static_cast<double>(r_.head_dim));
    Value low = p_.sigmoid("rwkv.gate_act", mixed("rwkv.gate_down", for_gate));
    x_ = {};
    Value gate = p_.linear("rwkv.gate_up", std::move(low));
    return p_.linear("rwkv.out", p_.bonus("rwkv.gate_mul", r_.heads,
                                          {std::move(o), std::move(q), std::move(k), std::move(v), std::move(gate)}));
  }

  /// c * convolution(b * x) with projections b, c and x.
  Value short_convolution() {
    Value b = p_.linear("conv.in_gate", x_), c = p_.linear("conv.out_gate", x_);
    Value y = p_.multiply("conv.in_mul", std::move(b), p_.linear("conv.x", std::exchange(x_, {})));
    const Convolution shape = convolution(y.width, false);
    y = p_.convolve("conv.core", std::move(y), shape);
    return p_.linear("conv.out", p_.multiply("conv.out_mul", std::move(c), std::move(y)));
  }

  /// h = a h + sqrt(1 - a^2) i x for every channel x of a convolution, with a decay a and a gate i computed from x by
  /// one matrix per block of channels. The result is act(g) h.
  Value rg_lru() {
    Value gate = p_.linear("lru.gate", x_);
    Value x = p_.linear("lru.x", std::exchange(x_, {}));
    const Convolution shape = convolution(x.width, false);
    x = p_.convolve("lru.x_conv", std::move(x), shape);
    Value in = p_.grouped("lru.in_gate", x), decay = p_.grouped("lru.decay", x);
    StateLayout at{.kind = r_.kind, .v = heads(0, r_.heads, r_.head_dim)};
    at.beta = at.decay = at.v;
    at.beta.tensor = 1, at.decay.tensor = 2;
    Value h =
        state("lru.core", StateRule::diagonal, mul(2, r_.width()), at, {std::move(x), std::move(in), std::move(decay)});
    return p_.linear("lru.out", p_.gate_output("lru.gate_mul", std::move(gate), std::move(h)));
  }

  /// o = q' (S + u k v'), S = a S + k v', all inputs from token shifts, with a bonus u and a decay a per channel. a
  /// and the mixing coefficients depend on the token, or are learned (RWKV-5). Then a norm per head, gated by
  /// silu(z).
  Value rwkv6() {
    const bool moves = r_.mix_rank > 0;
    x_ = moves ? moved_mixes() : p_.shift("rwkv.shift", std::move(x_), 4);
    std::vector<Value> in;
    Count part = 0;
    for (const char* op : {"rwkv.r", "rwkv.k", "rwkv.v"}) in.push_back(p_.linear_of_part(op, x_, part++));
    if (moves) {
      Value low = p_.tanh("rwkv.decay_act", p_.linear_of_part("rwkv.decay_down", x_, 4));
      in.push_back(p_.linear("rwkv.decay_up", std::move(low)));
    }
    StateLayout at{.kind = r_.kind, .q = heads(0, r_.heads, r_.key_dim)};
    at.k = at.v = at.decay = at.q;
    at.k.tensor = 1, at.v.tensor = 2, at.decay.tensor = moves ? 3 : 0;
    Value o = state("rwkv.core", StateRule::state_space, moves ? r_.width() : 0, at, std::move(in));
    const Norm each{.rows = mul(o.rows, r_.heads), .width = r_.head_dim, .centered = true, .per_head = true};
    o = p_.output_norm("rwkv.o_norm", std::move(o), each, 64);
    Value z = p_.linear_of_part("rwkv.gate", std::exchange(x_, {}), part);
    return p_.linear("rwkv.out", p_.silu_gate("rwkv.gate_mul", std::move(z), std::move(o)));
  }

  /// S = a S + e^i k v', n = a n + e^i k, o = q' S / max(|q' n|, 1), with gates i and a per head; norm(o) gated by
  /// sigmoid(z).
  Value mlstm() {
    Value q = p_.linear("mlstm.q", x_), k = p_.linear("mlstm.k", x_), v = p_.linear("mlstm.v", x_);
    Value in = p_.linear("mlstm.in_gate", x_), decay = p_.linear("mlstm.decay", x_);
    const StateLayout at{.kind = r_.kind,
                         .q = heads(0, r_.heads, r_.key_dim),
                         .k = heads(1, r_.heads, r_.key_dim),
                         .v = heads(2, r_.heads, r_.head_dim),
                         .decay = heads(4, r_.heads, 1),
                         .beta = heads(3, r_.heads, 1)};
    Value o = state("mlstm.core", StateRule::state_space, mul(2, r_.heads), at,
                    {std::move(q), std::move(k), std::move(v), std::move(in), std::move(decay)});
    const Norm each{.rows = mul(o.rows, r_.heads), .width = r_.head_dim, .centered = true, .per_head = true};
    o = p_.output_norm("mlstm.o_norm", std::move(o), each);
    Value z = p_.linear("mlstm.gate", std::exchange(x_, {}));
    return p_.linear("mlstm.out", p_.sigmoid_gate("mlstm.gate_mul", std::move(z), std::move(o)));
  }

 private:
  /// Outputs of RWKV-7's token shift, in the order of its learned mixing coefficients.
  enum Mix : Count { for_query, for_decay, for_key, for_value, for_step, for_gate };
  Value mixed(std::string_view op, Mix mix) { return p_.linear_of_part(op, x_, mix); }
  /// The layer's values, blended with the values that an earlier layer shares.
  Value mixed_values() {
    Value v = mixed("rwkv.v", for_value);
    if (!r_.reads_values()) return v;
    Value share = p_.linear("rwkv.value_up", mixed("rwkv.value_down", for_value));
    return p_.blend("rwkv.value_mix", std::move(v), p_.given().v, std::move(share));
  }
  /// Five token shifts, whose mixing coefficients are adjusted by a low-rank projection of another shift. The
  /// operator of the five shifts caches the last token, also for that other shift.
  Value moved_mixes() {
    Value low = p_.linear("rwkv.mix_down", p_.peek("rwkv.shift", "rwkv.mix", x_));
    Value moves = p_.grouped("rwkv.mix_up", p_.tanh("rwkv.mix_act", std::move(low)));
    return p_.moved_shift("rwkv.mix", std::move(x_), std::move(moves), 5);
  }
  static HeadPart heads(std::size_t tensor, Count heads, Count width) { return {tensor, 0, mul(heads, width), width}; }

  Convolution convolution(Count channels, bool activated) const {
    const Step& s = p_.step();
    return {
        .sequences = s.sequences, .queries = s.queries, .channels = channels, .taps = r_.taps, .activated = activated};
  }
  /// silu(convolution(W x))
  Value convolved(std::string_view name, std::string_view conv) {
    Value y = p_.linear(name, x_);
    const Convolution shape = convolution(y.width, true);
    return p_.convolve(conv, std::move(y), shape);
  }
  Value through_rank(std::string_view down, std::string_view up, Value x) {
    return p_.linear(up, p_.linear(down, std::move(x)));
  }
  Value state(std::string_view op, StateRule rule, Count gates, const StateLayout& at, std::vector<Value> in) {
    const Step& s = p_.step();
    const LinearAttention shape{.sequences = s.sequences,
                                .heads = r_.heads,
                                .queries = s.queries,
                                .head_dim = r_.head_dim,
                                .key_heads = r_.key_heads,
                                .key_dim = r_.key_dim,
                                .rule = rule,
                                .chunk = r_.chunk,
                                .gates = gates,
                                .state_bytes = r_.state_bytes,
                                .shares_values = rule == StateRule::removal && p_.kind().shares_kv,
                                .normalized = r_.kind == RecurrentKind::mlstm};
    return p_.recur(op, shape, at, std::move(in));
  }
  /// RMSNorm of every head's output.
  Value head_norm(std::string_view op, Value o) {
    const Norm shape{.rows = mul(o.rows, r_.heads), .width = r_.head_dim};
    return p_.output_norm(op, std::move(o), shape);
  }
  /// The end of a Mamba mixer: y gated by silu(z), a norm over all heads if the model has one, and the last projection.
  Value gated_out(Value y) {
    y = p_.silu_gate("ssm.gate_mul", p_.linear("ssm.gate", std::exchange(x_, {})), std::move(y));
    const Norm whole{.rows = y.rows, .width = y.width};
    if (r_.gated_norm) y = p_.output_norm("ssm.norm", std::move(y), whole);
    return p_.linear("ssm.out", std::move(y));
  }

  Pass& p_;
  const Recurrent& r_;
  Value x_;
};

}  // namespace

Value recurrence(Pass& p, Value x) {
  RecurrenceRun r(p, std::move(x));
  switch (p.mixer().recurrent.kind) {
    case RecurrentKind::gated_delta_net:
      return r.gated_delta_net();
    case RecurrentKind::kimi_delta:
      return r.kimi_delta();
    case RecurrentKind::mamba:
      return r.mamba();
    case RecurrentKind::mamba2:
      return r.mamba2();
    case RecurrentKind::short_convolution:
      return r.short_convolution();
    case RecurrentKind::rwkv7:
      return r.rwkv7();
    case RecurrentKind::rg_lru:
      return r.rg_lru();
    case RecurrentKind::rwkv6:
      return r.rwkv6();
    case RecurrentKind::mlstm:
      return r.mlstm();
    case RecurrentKind::none:
      break;
  }
  return {};
}

/// S = e^(-slope) S + k v', o = q' S with silu of q, k and v; norm(o) gated by sigmoid(z).
Value linear_attention(Pass& p, Value x) {
  const Mixer& m = p.mixer();
  const Step& s = p.step();
  Value q = p.linear("attn.q", x), k = p.linear("attn.k", x), v = p.linear("attn.v", x);
  q = qk_norm(p, "attn.q_norm", std::move(q), m.heads);
  k = qk_norm(p, "attn.k_norm", std::move(k), m.heads);
  const LinearAttention shape{.sequences = s.sequences,
                              .heads = m.heads,
                              .queries = s.queries,
                              .head_dim = m.head_dim,
                              .key_heads = m.heads,
                              .key_dim = m.head_dim};
  const auto part = [&](std::size_t tensor) { return HeadPart{tensor, 0, mul(m.heads, m.head_dim), m.head_dim}; };
  const StateLayout at{.kind = RecurrentKind::none, .q = part(0), .k = part(1), .v = part(2), .decay = {}, .beta = {}};
  Value o = p.recur("attn.core", shape, at, {std::move(q), std::move(k), std::move(v)});
  const Norm whole{.rows = o.rows, .width = o.width};
  o = p.output_norm("attn.o_norm", std::move(o), whole);
  Value z = p.linear("attn.gate", std::move(x));
  return p.linear("attn.out", p.sigmoid_gate("attn.gate_mul", std::move(z), std::move(o)));
}

}  // namespace llmcalc::model
