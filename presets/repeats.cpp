#include "presets/repeats.hpp"

#include "calc/arch/layer_kinds.hpp"
#include "presets/layer_pattern.hpp"

namespace llmcalc {

Repeats read_repeats(const json::Object& o, Count layers) {
  Repeats r;
  r.period = o.positive_or("period", 1);
  o.expects("layers", layer_pattern_schema);
  if (const json::Value* pattern = o.find("layers"))
    r.layers = read_layer_pattern(*pattern, layers, o.where() + ", \"layers\"");
  else
    r.layers = LayerSet::every(r.period, 1, layers);
  r.normed = o.flag_or("normed", false);
  o.refuse_unread();
  return r;
}

json::Value repeats_json(const Repeats& r, Count layers) {
  json::Value v = {{"period", r.period}};
  if (r.layers != LayerSet::every(r.period, 1, layers)) v["layers"] = layer_pattern_json(r.layers, layers);
  if (r.normed) v["normed"] = true;
  return v;
}

namespace {

/// Whether layers of two kinds have weights of the same shapes and use them in the same way.
bool are_alike(const LayerKind& a, const LayerKind& b) {
  return a.mixer == b.mixer && a.reach == b.reach && a.experts == b.experts && a.linear == b.linear &&
         a.mlp_width == b.mlp_width;
}

/// Whether the residual stream is the only data that layers pass to later layers.
bool reads_residual_alone(const Arch& a) {
  bool alone = a.streams == 1 || !a.repeats.normed;
  for (std::size_t i = 0; i <= a.mixers.size(); ++i)
    alone = alone && !a.mixer(i).reads_kv() && !a.mixer(i).indexer.shared;
  return alone && !a.altup && a.residual_block == 0 && a.per_layer.width == 0 && a.mtp.modules == 0 && a.first_norm &&
         !a.is_encoder_decoder() && a.block != BlockKind::shortcut;
}

}  // namespace

void check_repeats(const Arch& a, const Check& check) {
  const Repeats& r = a.repeats;
  if (!a.has_repeats())
    return check.that(r == Repeats{}, "no layer is repeated; set the layers of \"repeats\" or omit it");
  check.size(r.period, "the period of repeated layers", 1, a.layers - 1);
  check.that(
      r.layers.first() >= r.period,
      fmt::format("layer {} repeats the layer {} positions earlier, which does not exist", r.layers.first(), r.period));
  check.that(reads_residual_alone(a),
             "repeated layers require a model whose layers read only one residual stream, without MTP modules, "
             "shortcut blocks and an encoder before a decoder; remove these or \"repeats\"");
  check.that(!r.normed || a.final_norm,
             "\"normed\" of \"repeats\" is true, but the model has no final norm; set it "
             "to false");
  const LayerKinds kinds = layer_kinds(a);
  const auto kind = [&](Count layer) -> const LayerKind& { return kinds[kind_index(kinds, layer)]; };
  for (Count i = r.period; i < a.layers; ++i)
    check.that(!r.layers.contains(i) || are_alike(kind(i), kind(i - r.period)),
               fmt::format("layer {} repeats the weights of layer {}, but has a different mixer, window or MLP; make "
                           "both equal",
                           i, i - r.period));
}

void check_exit_gate(const Arch& a, const Check& check) {
  check.that(!a.head.exit_gate || (a.head.kind == HeadKind::next_token && a.final_norm && a.streams == 1),
             "an exit_gate requires a decoder with a final norm, logits and one residual stream; remove it");
}

void check_narrow_ends(const Arch& a, const Check& check) {
  check.that(!a.narrow_ends || (a.embedding_width != a.hidden && a.is_encoder() && a.streams == 1 &&
                                a.per_layer.width == 0 && a.head.kind != HeadKind::next_token),
             "narrow_ends requires an encoder with a token embedding narrower than the model and a masked_token head "
             "or no head; remove it");
}

}  // namespace llmcalc
