#include "calc/block/cross.hpp"

namespace llmcalc {

TensorId cross_attention(SegmentBuilder& b, TensorId x) {
  constexpr Component c = Component::attention;
  const Mixer& m = b.mixer();
  const Step& s = b.step();
  const Count d = b.arch().hidden, keys = s.training ? s.queries : s.encoded;
  const bool cached = !s.training && s.past > 0;
  const TensorId q = b.linear("cross.q", c, Split::column, x, d, mul(m.heads, m.head_dim), m.qkv_bias, m.head_dim);
  const TensorId encoded = cached ? no_tensor : b.outside();
  const auto projected = [&](std::string_view name, Count width) {
    if (cached) return b.outside();
    const Linear w{.rows = mul(s.sequences, keys), .in = d, .out = mul(m.kv_heads, width), .bias = m.qkv_bias};
    return b.matrix(name, c, w, Split::column, encoded, width);
  };
  const TensorId k = projected("cross.k", m.head_dim), v = projected("cross.v", m.v_dim());
  const Attention core{.sequences = s.sequences,
                       .heads = m.heads,
                       .kv_heads = m.kv_heads,
                       .queries = s.queries,
                       .keys = keys,
                       .qk_dim = m.head_dim,
                       .v_dim = m.v_dim(),
                       .shared_kv = cached,
                       .bidirectional = true,
                       .cross = true};
  const TensorId o = b.add("cross.core", c, core, Split::heads, {q, k, v});
  return b.linear("cross.out", c, Split::row, o, m.attention_width(), d, m.attention_out_bias, m.v_dim());
}

Step half_step(const Arch& a, const Step& s, bool encoder) {
  if (s.training || !a.is_encoder_decoder()) return s;
  Step half = s;
  const bool decodes = s.past > 0;
  if (encoder) half.queries = decodes ? 0 : s.queries;
  if (encoder || !decodes) half.past = 0;
  if (!encoder && decodes) half.past = s.past - s.encoded + 1;  // plus the decoder's start token
  if (!encoder && !decodes) half.queries = 1;
  return half;
}

Count embedded_tokens(const Arch& a, const Step& s) {
  const Count decoded = half_step(a, s, false).tokens();
  return a.is_encoder_decoder() ? add(half_step(a, s, true).tokens(), decoded) : decoded;
}

void make_distances(SegmentBuilder& b, const Step& step, TensorId x) {
  const Arch& a = b.arch();
  const auto table = [&](std::string_view name, const Mixer& m, const Step& s) {
    const Lookup numbers{mul(s.queries, add(s.past, s.queries)), a.position_rows, m.heads};
    if (numbers.tokens > 0 && step.past == 0) b.add(name, Component::position, numbers, Split::heads, block_input);
  };
  if (a.bidirectional) table("embedding.encoder_distances", a, half_step(a, step, true));
  if (!a.is_encoder()) table("embedding.distances", a.mixer(a.mixers.size()), half_step(a, step, false));
  b.set_result(x);
}

TensorId layer_distances(SegmentBuilder& b) {
  const Arch& a = b.arch();
  const Step& s = b.step();
  if (!a.layer_distances || s.past > 0) return no_tensor;
  const Lookup numbers{mul(s.queries, s.queries), a.position_rows, b.mixer().heads};
  return b.add("attn.distances", Component::position, numbers, Split::heads, block_input);
}

}  // namespace llmcalc
