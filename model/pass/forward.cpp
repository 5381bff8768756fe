// A decoder or an encoder, top to bottom. Operators run in program order. An operator frees a value that is moved into
// it, unless backward needs it.

#include "model/pass/forward.hpp"

#include <utility>

#include "model/layers/alternating.hpp"
#include "model/layers/mixer.hpp"

namespace llmcalc::model {
namespace {

/// Norm over the residual width: LayerNorm g (x - mean) / sqrt(variance + eps) + b (Ba et al. 2016, arXiv:1607.06450)
/// or RMSNorm g x / sqrt(mean of x^2 + eps) (Zhang, Sennrich 2019, arXiv:1910.07467).
Value norm(Pass& p, std::string_view op, Value x) {
  const Count rows = x.rows;
  return p.norm(op, std::move(x),
                {.rows = rows, .width = p.arch().hidden, .centered = p.arch().norm != NormKind::rms_norm});
}

/// Like norm(), but over the width of x.
Value own_norm(Pass& p, std::string_view op, Value x) {
  const Norm shape{.rows = x.rows, .width = x.width, .centered = p.arch().norm != NormKind::rms_norm};
  return p.norm(op, std::move(x), shape);
}

// ---- MLP

/// Names of the operators of an MLP: the dense MLP, the routed experts or the shared experts.
struct MlpOperators {
  const char *gate, *up, *act, *mul, *down;
};
constexpr MlpOperators dense{"mlp.gate", "mlp.up", "mlp.act", "mlp.mul", "mlp.down"};
constexpr MlpOperators routed{"mlp.expert_gate", "mlp.expert_up", "mlp.expert_act", "mlp.expert_mul",
                              "mlp.expert_down"};
constexpr MlpOperators shared{"mlp.shared_gate", "mlp.shared_up", "mlp.shared_act", "mlp.shared_mul",
                              "mlp.shared_down"};

/// RMSNorm before the dense MLP's last matrix (BitNet, arXiv:2504.12285).
Value sub_norm(Pass& p, Value h) {
  const Norm each{.rows = h.rows, .width = h.width};
  return p.norm("mlp.sub_norm", std::move(h), each);
}

/// W_down act(W_up x), or gated: W_down (act(W_gate x) * W_up x) (Shazeer 2020, arXiv:2002.05202). `gates`: the
/// router's gates, for routed experts; else null.
Value feed_forward(Pass& p, const MlpOperators& names, Value x, const Value* gates) {
  const auto project = [&](const char* op, Value in) {
    return gates != nullptr ? p.routed(op, std::move(in), *gates) : p.linear(op, std::move(in));
  };
  const auto down = [&](Value h) {
    if (&names == &dense && p.arch().sub_norms) h = sub_norm(p, std::move(h));
    return project(names.down, std::move(h));
  };
  if (p.arch().mlp == MlpKind::plain) {
    Value h = project(names.up, std::move(x));
    return down(p.activate(names.act, std::move(h)));
  }
  Value gate = project(names.gate, x);
  Value up = project(names.up, std::move(x));
  if (p.step().fused_glu) return down(p.gate(names.act, std::move(gate), std::move(up)));
  Value act = p.activate(names.act, std::move(gate));
  return down(p.multiply(names.mul, std::move(act), std::move(up)));
}

/// MLP of RWKV-5 and -6: reads the first of two token shifts and is gated by the second.
Value under_receptance(Pass& p, Value x) {
  x = p.shift("mlp.shift", std::move(x), 2);
  Value y = feed_forward(p, dense, x, nullptr);
  Value g = p.linear_of_part("mlp.receptance", std::move(x), 1);
  return p.sigmoid_gate("mlp.receptance_mul", std::move(g), std::move(y));
}

/// The dense MLP. In RWKV-7, it applies a token shift to its input.
Value dense_mlp(Pass& p, Value x) {
  if (p.arch().mlp_receptance) return under_receptance(p, std::move(x));
  if (p.arch().mlp_shift) x = p.shift("mlp.shift", std::move(x), 1);
  return feed_forward(p, dense, std::move(x), nullptr);
}

/// The shared experts, which process every token, with a gate if the model has one.
Value shared_experts(Pass& p, Value x) {
  if (!p.arch().moe.shared_gate) return feed_forward(p, shared, std::move(x), nullptr);
  Value y = feed_forward(p, shared, x, nullptr);
  Value g = p.linear("mlp.shared_weight", std::move(x));
  return p.scale("mlp.shared_scale", std::move(y), std::move(g));
}

/// Router logits; the router may have its own norm.
Value router(Pass& p, Value x) {
  const Norm each{.rows = x.rows, .width = x.width};
  if (p.arch().moe.router_scales) x = p.norm("mlp.router_norm", std::move(x), each);
  return p.linear("mlp.router", std::move(x));
}

/// Mixture of experts (Shazeer et al. 2017, arXiv:1701.06538): sum over the chosen experts of gate x expert(x). Experts
/// with a latent width (LatentMoE) work between two projections. Experts that return their input add gate x input
/// (LongCat-Flash). `routed_by`: the router's input.
Value experts(Pass& p, Value x, Value routed_by) {
  const Moe& m = p.arch().moe;
  Value gates = p.route("mlp.route", router(p, std::move(routed_by)));
  const bool always = m.shared_experts > 0, returns = m.zero_experts > 0, narrow = m.latent_width > 0;
  Value own = always || returns ? x : std::exchange(x, {});
  if (narrow) own = p.linear("mlp.latent_down", std::move(own));
  const Count rows = own.rows;
  if (m.latent_norm) own = p.norm("mlp.latent_norm", std::move(own), {.rows = rows, .width = m.latent_width});
  Value sent = p.dispatch("mlp.dispatch", std::move(own), gates);
  Value y = feed_forward(p, routed, std::move(sent), &gates);
  y = p.combine("mlp.combine", std::move(y), returns ? gates : std::exchange(gates, {}));
  if (narrow) y = p.linear("mlp.latent_up", std::move(y));
  if (returns) y = p.add_own("mlp.zero_add", std::move(y), always ? x : std::exchange(x, {}), std::move(gates));
  if (!always) return y;
  Value z = shared_experts(p, std::move(x));
  return p.add("mlp.shared_add", std::move(y), std::move(z));
}

/// Sum of a dense MLP and experts, each followed by a norm. Experts and their router read the residual stream through
/// separate norms, and run first (calc/block/block.cpp).
Value dense_and_experts(Pass& p, Value x, Value residual) {
  Value own = norm(p, "mlp.expert_norm", residual);
  if (!p.arch().moe.router_scales) residual = own;
  Value z = norm(p, "mlp.combined_norm", experts(p, std::move(own), std::move(residual)));
  Value y = norm(p, "mlp.dense_norm", dense_mlp(p, std::move(x)));
  return p.add("mlp.sum", std::move(y), std::move(z));
}

/// `residual`: x before its norm, the input of experts parallel to a dense MLP.
Value mlp(Pass& p, Value x, Value residual) {
  if (!p.kind().experts) return dense_mlp(p, std::move(x));
  if (p.arch().moe.with_dense_mlp) return dense_and_experts(p, std::move(x), std::move(residual));
  residual = x;
  return experts(p, std::move(x), std::move(residual));
}

// ---- blocks

/// Names of the operators on multiple residual streams.
struct StreamNames {
  const char *weights, *gather, *spread, *mix;
};
constexpr StreamNames attention_streams{"attn.stream_weights", "attn.gather", "attn.spread", "attn.mix"};
constexpr StreamNames mlp_streams{"mlp.stream_weights", "mlp.gather", "mlp.spread", "mlp.mix"};

/// One sub-layer of hyper-connections (mHC, arXiv:2512.24880): f reads the norm of a weighted sum of the residual
/// streams x, and its result is spread over the streams while they are mixed.
template <typename F>
Value streamed_layer(Pass& p, const StreamNames& names, const std::array<const char*, 4>& inner, Value x, F f) {
  Value weights = p.linear(names.weights, x);
  Value y = f(p, norm(p, inner[0], p.gather(names.gather, x, weights)));
  p.dropout(inner[2], y);
  return p.spread(names.spread, names.gather, std::move(x), std::move(y), std::move(weights));
}

/// One sub-layer of a model that mixes its residual streams (Kimi K3, arXiv:2607.24653, 2.2): x + f(norm(mix)), or
/// f(norm(mix)) at the start of a block.
template <typename F>
Value mixed_layer(Pass& p, const StreamNames& streams, const std::array<const char*, 4>& names, Value x, F f) {
  const bool is_first = &streams == &attention_streams || p.mixer().is_empty();
  const bool begins = is_first && p.begins_block();
  Value in = p.mix(streams.mix, x, is_first);
  if (begins) p.save_stream(std::exchange(x, {}));
  Value y = f(p, norm(p, names[0], std::move(in)));
  p.dropout(names[2], y);
  return begins ? std::move(y) : p.add(names[3], std::move(x), std::move(y));
}

/// One residual sub-layer: x + f(norm x), norm(x + f x), x + norm(f x) or x + norm(f(norm x)).
template <typename F>
Value sub_layer(Pass& p, const std::array<const char*, 4>& names, const StreamNames& streams, Value x, F f) {
  if (p.arch().hyper_connected()) return streamed_layer(p, streams, names, std::move(x), f);
  if (p.arch().residual_block > 0) return mixed_layer(p, streams, names, std::move(x), f);
  const NormPlacement place = p.arch().norm_placement;
  const bool bare = p.kind().bare && &streams == &attention_streams;
  const bool before = (place == NormPlacement::pre || place == NormPlacement::both) && !bare;
  Value y = f(p, before ? norm(p, names[0], x) : x);
  if (place == NormPlacement::output || place == NormPlacement::both) y = norm(p, names[1], std::move(y));
  p.dropout(names[2], y);
  y = p.add(names[3], std::move(x), std::move(y));
  return place == NormPlacement::post ? norm(p, names[1], std::move(y)) : y;
}

/// x + attention(norm x) + mlp(norm x), with one norm or two (GPT-J, PaLM, Falcon).
Value parallel_block(Pass& p, Value x) {
  Value n = norm(p, "attn.norm", x);
  Value m = p.arch().norms_per_layer == 2 ? norm(p, "mlp.norm", x) : n;
  Value a = mixed(p, std::move(n));
  Value b = mlp(p, std::move(m), {});
  p.dropout("attn.dropout", a);
  p.dropout("mlp.dropout", b);
  Value sum = p.add("block.sum", std::move(a), std::move(b));
  return p.add("block.add", std::move(x), std::move(sum));
}

constexpr std::array attention_names{"attn.norm", "attn.post_norm", "attn.dropout", "attn.add"};
constexpr std::array cross_names{"cross.norm", "cross.post_norm", "cross.dropout", "cross.add"};
constexpr std::array mlp_names{"mlp.norm", "mlp.post_norm", "mlp.dropout", "mlp.add"};

/// Attention, MLP, attention, MLP. The experts read the first MLP's input and their result is added at the end, so that
/// their collectives can be overlapped with the block (LongCat-Flash, arXiv:2509.01322, 2.2).
Value shortcut_block(Pass& p, Value x) {
  const Count first = p.layer() - p.layer() % 2;
  Value y;
  for (const Count half : {first, first + 1}) {
    p.enter(half);
    x = sub_layer(p, attention_names, attention_streams, std::move(x), mixed);
    x = sub_layer(p, mlp_names, mlp_streams, std::move(x), [&](Pass&, Value in) {
      if (half == first) y = experts(p, in, in);
      return dense_mlp(p, std::move(in));
    });
  }
  y.slot->apart = true;
  return p.add("block.shortcut_add", std::move(x), std::move(y));
}

/// norm((act(x G) * e) P) with the layer's own input e.
Value own_input(Pass& p, Value x) {
  Value y = p.linear("per_layer.gate", std::move(x));
  y = p.step().fused_glu ? p.gate_layer_input("per_layer.act", std::move(y))
                         : p.multiply_layer_input("per_layer.mul", p.activate("per_layer.act", std::move(y)));
  return norm(p, "per_layer.norm", p.linear("per_layer.project", std::move(y)));
}

/// The MLP's sub-layer. Experts parallel to a dense MLP read x directly.
Value mlp_layer(Pass& p, Value x) {
  Value residual = p.arch().moe.with_dense_mlp ? x : Value();
  return sub_layer(p, mlp_names, mlp_streams, std::move(x),
                   [&residual](Pass& pass, Value in) { return mlp(pass, std::move(in), std::exchange(residual, {})); });
}

/// Runs the mixer on the first of the streams x. Returns that stream plus the mixer's result and, if the model has it,
/// the low-rank path.
Value mixer_of_first(Pass& p, const Value& x) {
  const Arch& a = p.arch();
  const Norm shape{.rows = x.rows, .width = a.hidden, .centered = a.norm != NormKind::rms_norm};
  Value in = p.norm(attention_names[0], x, shape, x.width), beside;
  if (a.laurel_rank > 0) beside = low_rank(p, in);
  Value y = mixed(p, std::move(in));
  if (a.norm_placement == NormPlacement::both) y = norm(p, attention_names[1], std::move(y));
  p.dropout(attention_names[2], y);
  y = p.add_first_stream(attention_names[3], x, std::move(y));
  if (a.laurel_rank == 0) return y;
  beside.slot->apart = true;
  return p.add("laurel.sum", std::move(y), std::move(beside));
}

/// A layer of alternating updates (calc/block/altup.hpp): all streams are predicted, the first goes through the
/// layer, and its result corrects all streams. Then the layer's own input is added to all streams but the first.
Value alternating_block(Pass& p, Value x) {
  Value predicted = predicted_streams(p, std::move(x));
  Value y = mlp_layer(p, mixer_of_first(p, predicted));
  Value corrected = corrected_streams(p, std::move(predicted), std::move(y));
  Value own = own_input(p, p.scale_by_learned("altup.scale", p.first_stream("altup.first", corrected)));
  return p.share_with_streams("altup.share", std::move(corrected), std::move(own));
}

Value block_of_kind(Pass& p, Value x) {
  if (p.arch().altup) return alternating_block(p, std::move(x));
  if (p.arch().block == BlockKind::shortcut && !p.kind().half) return shortcut_block(p, std::move(x));
  if (p.arch().block == BlockKind::parallel) return parallel_block(p, std::move(x));
  if (!p.mixer().is_empty()) x = sub_layer(p, attention_names, attention_streams, std::move(x), mixed);
  if (p.mixer().cross_attention) x = sub_layer(p, cross_names, attention_streams, std::move(x), cross_attention);
  if (p.kind().has_mlp()) x = mlp_layer(p, std::move(x));
  if (p.arch().per_layer.width > 0) {
    Value own = own_input(p, x);
    x = p.add("per_layer.add", std::move(x), std::move(own));
  }
  if (p.arch().output_scale) p.multiply_by("block.scale", x);
  return x;
}

/// A layer. A norm follows if the layer ends an encoder or, in a model that repeats layers, any run but the last.
Value block(Pass& p, Value x) {
  x = block_of_kind(p, std::move(x));
  if (p.kind().ends_run) return norm(p, "run.norm", std::move(x));
  if (!p.kind().closes_encoder) return x;
  return p.encoder_result([&] { return norm(p, "encoder.norm", std::move(x)); });
}

// ---- ends

/// Inputs of all layers: rows of a separate table, plus norm(x W).
Value layer_inputs(Pass& p, std::span<const std::int64_t> ids, const Value& x) {
  const PerLayerInput& e = p.arch().per_layer;
  Value rows = p.lookup("embedding.per_layer", ids);
  Value y = p.linear("embedding.per_layer_project", x);
  y = p.norm("embedding.per_layer_norm", std::move(y), {.rows = mul(x.rows, p.arch().layers), .width = e.width});
  return p.add("embedding.per_layer_add", std::move(rows), std::move(y));
}

/// Computes the relative-position biases of each stack.
void make_distances(Pass& p) {
  if (p.arch().position != Position::relative || p.arch().layer_distances) return;
  if (p.arch().bidirectional) p.make_distances("embedding.encoder_distances", true);
  if (!p.arch().is_encoder()) p.make_distances("embedding.distances", false);
}

/// Rows of the token embedding, plus positions if the model adds them: learned ones, or sines and cosines of position x
/// 10000^(-2i/width) (Vaswani et al. 2017, arXiv:1706.03762), which the lookup adds to its rows.
Value embedding(Pass& p, std::span<const std::int64_t> ids) {
  const Arch& a = p.arch();
  Value x = p.lookup("embedding.tokens", ids);
  if (a.narrows_head()) x = p.linear("embedding.project", std::move(x));
  if (a.learned_rows() > 0) {
    Value positions = p.lookup("embedding.positions", {});
    x = p.add("embedding.add", std::move(x), std::move(positions));
  }
  if (a.token_types > 0) {
    Value types = p.segments("embedding.types");
    x = p.add("embedding.types_add", std::move(x), std::move(types));
  }
  if (a.embedding_norm) x = own_norm(p, "embedding.norm", std::move(x));
  p.dropout("embedding.dropout", x);
  if (a.narrow_ends) x = p.linear("embedding.project", std::move(x));
  make_distances(p);
  if (a.per_layer.width > 0) p.give_layers(layer_inputs(p, ids, x));
  if (a.altup) return stacked_streams(p, std::move(x));
  return a.streams > 1 ? p.repeat("embedding.repeat", std::move(x)) : x;
}

/// Embeddings of an encoder and its decoder, from one table.
Stacks embeddings(Pass& p, std::span<const std::int64_t> ids) {
  if (!p.arch().is_encoder_decoder()) return {embedding(p, ids), {}};
  Stacks x = p.lookup_stacks("embedding.tokens", ids);
  p.dropout_stacks("embedding.dropout", x);
  make_distances(p);
  return x;
}

/// A result and the operator that computed it.
struct Named {
  const char* op = nullptr;
  Value value;
};

/// An encoder's result for the first token of each sequence: tanh(W x + b), and for sentence pairs two logits that
/// predict whether the second sentence follows the first (BERT, arXiv:1810.04805).
Named pooled(Pass& p, const Value& x) {
  Value y = p.tanh("head.pooler_act", p.first_tokens("head.pooler", x));
  if (!p.arch().head.sentence_pair) return {"head.pooler_act", std::move(y)};
  return {"head.sentence_pair", p.linear("head.sentence_pair", std::move(y))};
}

/// The final norm, for every token or for one per sequence.
Value final_norm(Pass& p, Value x, std::optional<Count> token) {
  const Arch& a = p.arch();
  const Step& s = p.step();
  if (!token || x.rows == s.sequences) return norm(p, "head.norm", std::move(x));
  const Norm one{.rows = s.sequences, .width = a.hidden, .centered = a.norm != NormKind::rms_norm};
  return p.norm("head.norm", std::move(x), one, s.queries * a.hidden, *token * a.hidden);
}

/// Norm and logits, for every token or for one per sequence.
Value logits(Pass& p, Value x, bool normed, std::optional<Count> token) {
  const Arch& a = p.arch();
  p.look_at(token);
  if (normed) x = final_norm(p, std::move(x), token);
  if (a.narrows_head()) x = p.linear("head.project", std::move(x));
  return p.logits("head.logits", std::move(x));
}

/// Like logits(), but first computes an exit-gate logit from the final norm's output; no operator reads this logit.
Value gated_logits(Pass& p, Value x, std::optional<Count> token) {
  x = final_norm(p, std::move(x), token);
  p.judge("head.exit_gate", p.linear("head.exit_gate", x));
  return logits(p, std::move(x), false, token);
}

/// Final norm and head; when generating, only for the last token of each sequence. Models without logits return the
/// pooler's result, the final norm of all tokens, or x.
Value head(Pass& p, Value x) {
  const Arch& a = p.arch();
  const Step& s = p.step();
  const std::optional<Count> token = s.training || s.verifies ? std::nullopt : std::optional(s.queries - 1);
  p.look_at(token);
  if (a.altup) x = merged_streams(p, std::move(x), token ? s.sequences : x.rows);
  if (a.hyper_connected()) x = p.gather("head.gather", x, p.linear("head.stream_weights", x));
  Named first;
  if (a.head.pooler) first = pooled(p, x);
  if (!a.head.has_logits()) {
    if (a.head.pooler) return std::move(first.value);
    return a.final_norm ? norm(p, "head.norm", std::move(x)) : std::move(x);
  }
  if (a.head.pooler) p.judge(first.op, first.value);
  if (a.residual_block > 0) x = p.mix("head.mix", std::move(x), true);
  if (a.head.exit_gate) return gated_logits(p, std::move(x), token);
  if (a.head.kind != HeadKind::masked_token) return logits(p, std::move(x), a.final_norm, token);
  if (a.final_norm) x = final_norm(p, std::move(x), token);
  x = p.activate("head.transform_act", p.linear("head.transform", std::move(x)));
  return logits(p, own_norm(p, "head.transform_norm", std::move(x)), false, token);
}

/// Runs the layers in groups, saving only each group's input (Megatron-LM's uniform recomputation).
Value groups_of_layers(Pass& p, Value x) {
  const Count layers = p.arch().layers, size = p.plan().recompute_layers;
  for (Count first = 0; first < layers; first += size) {
    p.enter(first * halves(p.arch()));
    x = p.checkpoint(std::move(x), [&p, first, end = std::min(layers, first + size)](Value in) {
      for (Count i = first; i < end; ++i) {
        p.enter(i * halves(p.arch()));
        in = block(p, std::move(in));
      }
      return in;
    });
  }
  p.enter(-1);
  return x;
}

// ---- MTP modules

/// W_h norm(x) of the preceding result x, for each of its residual streams.
Value projected_result(Pass& p, Value x) {
  const Count n = p.arch().streams;
  x.rows *= n;
  x.width /= n;
  Value h = p.linear("mtp.project_result", norm(p, "mtp.result_norm", std::move(x)));
  h.rows /= n;
  h.width *= n;
  return h;
}

/// Result of a module's layer: layer(W_e norm(e) + W_h norm(x)), where e are the embeddings of its tokens, and x is the
/// result of the last layer or of the previous module.
Value module_result(Pass& p, Value x, std::span<const std::int64_t> ids) {
  const Count layer = p.layer();
  Value e = p.linear("mtp.project_token", norm(p, "mtp.token_norm", p.lookup("mtp.tokens", ids)));
  Value h = projected_result(p, std::move(x));
  if (p.arch().streams > 1) e = p.repeat("mtp.repeat", std::move(e));
  Value y = p.add("mtp.add", std::move(e), std::move(h));
  const auto run = [&p](Value in) { return block(p, std::move(in)); };
  const bool again = p.plan().recompute == Recompute::full && !recomputes_block(p.plan());
  y = again ? p.checkpoint(std::move(y), run) : run(std::move(y));
  p.enter(layer);
  return y;
}

/// The last layer's result.
Value trunk(Pass& p, std::span<const std::int64_t> ids) {
  p.enter(-1);
  Stacks tokens = embeddings(p, ids);
  Value x = std::move(tokens.encoder), encoded;
  if (recomputes_groups(p.plan())) return groups_of_layers(p, std::move(x));
  for (Count i = 0; i < p.arch().layers; ++i) {
    const bool again = recomputes(p.plan(), i);
    p.enter(i * halves(p.arch()));
    if (p.kind().closes_encoder && !x.data) x = std::move(tokens.decoder);  // in a decoding step
    if (p.step().tokens() == 0) continue;
    const KeysAndValues read = p.shared_kv();
    const auto layer = [&p, read, encoded](Value in) {
      p.give(read);
      p.give_encoded(encoded);
      return block(p, std::move(in));
    };
    x = again ? p.checkpoint(std::move(x), layer) : layer(std::move(x));
    p.leave(read);
    p.leave_stack(encoded);
    if (!p.kind().closes_encoder) continue;
    x.data->claim(again ? "block.input" : "encoder.norm");
    encoded = std::exchange(x, std::move(tokens.decoder));
  }
  p.enter(-1);
  return x;
}

}  // namespace

bool recomputes(const Plan& plan, Count layer) {
  return plan.recompute == Recompute::full && (!recomputes_block(plan) || layer < plan.recompute_layers);
}

bool recomputes_in_groups(const Arch& a) {
  return cross_layer_tensors(layer_kinds(a)).empty() && !a.shares_choices() && !a.is_encoder_decoder() &&
         a.position != Position::relative && a.per_layer.width == 0 && a.residual_block == 0;
}

Value forward(Pass& p, std::span<const std::int64_t> ids) { return head(p, trunk(p, ids)); }

void forward_further(Pass& p, std::span<const std::int64_t> ids, const TakeLogits& take) {
  const Arch& a = p.arch();
  const Count modules = p.step().mtp;
  Value x = trunk(p, ids);
  Further next = take(0, head(p, x));
  for (Count k = 1; k <= modules; ++k) {
    p.enter((a.layers + k - 1) * halves(a));
    x = module_result(p, std::move(x), next.ids);
    const std::optional<Count> token = p.step().training ? std::nullopt : std::optional(next.token);
    Value read = k < modules ? x : std::exchange(x, {});
    if (a.hyper_connected()) {
      p.look_at(token);
      read = p.gather("head.gather", read, p.linear("head.stream_weights", read));
    }
    next = take(k, logits(p, std::move(read), a.mtp.own_norm || a.final_norm, token));
  }
}

}  // namespace llmcalc::model
