#include "presets/model_file.hpp"

#include <fmt/format.h>

#include "calc/parameters.hpp"
#include "presets/arch_check.hpp"
#include "presets/formats/weight_formats.hpp"
#include "presets/layer_pattern.hpp"
#include "presets/mixer_file.hpp"
#include "presets/repeats.hpp"
#include "presets/weights_file.hpp"
#include "text/json_schema.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using json::Object;
using json::Value;

LayerSet layers(const Object& o, Count count) {
  o.expects("layers", layer_pattern_schema);
  const Value* pattern = o.find("layers");
  if (pattern == nullptr)
    throw InputError(o.where() + ", \"layers\" is missing; expected \"all\", a pattern or a list of layers");
  return read_layer_pattern(*pattern, count, o.where() + ", \"layers\"");
}

void read_local(const Object& o, const char* size, bool chunked, Arch& a) {
  if (a.local.reach.limited())
    throw InputError(o.where() + ": conflicts with \"sliding_window\"; set only one of the two");
  a.local = {.reach = {o.positive(size), chunked}, .layers = layers(o, a.layers)};
  o.refuse_unread();
}

/// Calls read(object) for each object in the list `key`. Throws InputError for more than `most` objects.
template <typename Read>
void read_list(const Object& o, std::string_view key, std::size_t most, const Read& read) {
  const std::string where = fmt::format("{}, {}", o.where(), in_quotes(key));
  o.expects(key, [&] { return json::objects_at(where + ", entry 0"); });
  const Value& list = *o.find(key);
  if (!list.is_array() || list.empty() || list.size() > most)
    throw InputError(fmt::format("{}: expected a list of 1 to {} objects, got {}", where, most,
                                 list.is_array() ? fmt::format("{}", list.size()) : list.dump()));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Object item(list[i], fmt::format("{}, entry {}", where, i));
    read(item);
    item.refuse_unread();
  }
}

void read_mixers(const Object& o, Arch& a) {
  read_list(o, "mixers", decltype(a.mixers)::capacity, [&](const Object& item) {
    LayerMixer m;
    m.layers = layers(item, a.layers);
    m.reach.tokens = item.positive_or("window", 0);
    m.attention = AttentionKind::none;
    if (item.has("attention")) read_attention(item.object("attention"), a.hidden, m);
    if (item.has("recurrent")) m.recurrent = read_recurrent(item.object("recurrent"));
    a.mixers.push(m);
  });
}

void read_mlps(const Object& o, Arch& a) {
  read_list(o, "mlps", decltype(a.mlps)::capacity, [&](const Object& item) {
    a.mlps.push({item.count("width"), layers(item, a.layers)});
  });
}

void read_linear_attention(const Object& o, Arch& a) {
  a.linear_layers = layers(o, a.layers);
  o.refuse_unread();
}

void read_mlp(const Object& o, Arch& a) {
  a.mlp = choice<MlpKind>(o, "kind");
  a.mlp_width = o.positive_or("width", 0);
  a.activation = choice<Activation>(o, "activation");
  a.mlp_bias = o.flag("bias");
  a.mlp_out_bias = o.flag_or("out_bias", false);
  a.mlp_shift = o.flag_or("shift", false);
  a.mlp_receptance = o.flag_or("receptance", false);
  o.refuse_unread();
}

void read_moe(const Object& o, Arch& a) {
  a.moe = {.experts = o.positive("experts"),
           .top_k = o.positive("top_k"),
           .width = o.positive("width"),
           .zero_experts = o.count_or("zero_experts", 0),
           .latent_width = o.count_or("latent_width", 0),
           .latent_norm = o.flag_or("latent_norm", false),
           .shared_experts = o.count_or("shared_experts", 0),
           .shared_width = o.count_or("shared_width", 0),
           .shared_gate = o.flag_or("shared_gate", false),
           .router_bias = o.flag_or("router_bias", false),
           .expert_bias = o.flag_or("expert_bias", false),
           .router_correction = o.flag_or("router_correction_bias", false),
           .router_scales = o.flag_or("router_scales", false),
           .with_dense_mlp = o.flag_or("beside_dense", false),
           .layers = layers(o, a.layers)};
  o.refuse_unread();
}

void read_per_layer_input(const Object& o, Arch& a) {
  a.per_layer = {.rows = o.positive("rows"), .width = o.positive("width")};
  o.refuse_unread();
}

void read_norm(const Object& o, Arch& a) {
  a.norm = choice<NormKind>(o, "kind");
  a.norm_placement = choice<NormPlacement>(o, "placement");
  a.norms_per_layer = o.positive("per_layer");
  a.final_norm = o.flag("final");
  a.embedding_norm = o.flag("embedding");
  a.first_norm = o.flag_or("first", true);
  a.sub_norms = o.flag_or("sub_norms", false);
  o.refuse_unread();
}

bool has_table(Position p) { return p == Position::learned || p == Position::relative; }

void read_position(const Object& o, Arch& a) {
  a.position = choice<Position>(o, "kind");
  a.position_rows = has_table(a.position) ? o.positive("rows") : 0;
  a.added_rows = o.count_or("added_rows", 0);
  a.layer_distances = o.flag_or("per_layer", false);
  o.refuse_unread();
}

void read_head(const Object& o, Arch& a) {
  a.tied_head = o.flag("tied");
  a.head_bias = o.flag("bias");
  if (o.has("kind")) a.head.kind = choice<HeadKind>(o, "kind");
  a.head.transform_bias = o.flag_or("transform_bias", true);
  a.head.pooler = o.flag_or("pooler", false);
  a.head.sentence_pair = o.flag_or("sentence_pair", false);
  a.head.exit_gate = o.flag_or("exit_gate", false);
  o.refuse_unread();
}

void read_mtp(const Object& o, Arch& a) {
  a.mtp = {.modules = o.positive("modules"),
           .mixer_of = o.count("mixer_of"),
           .mlp_of = o.count("mlp_of"),
           .own_norm = o.flag("own_norm"),
           .own_embedding = o.flag("own_embedding"),
           .own_head = o.flag("own_head")};
  o.refuse_unread();
}

/// The number of layers. Throws InputError if it exceeds max_layers, the capacity of the LayerSets that store
/// patterns.
Count layer_count(const Object& o) {
  const Count n = o.positive("layers");
  if (n <= max_layers) return n;
  throw InputError(
      fmt::format("{}, \"layers\": expected a whole number from 1 to {}, got {}", o.where(), max_layers, n));
}

Arch read_arch(const Object& o) {
  Arch a;
  a.layers = layer_count(o);
  a.hidden = o.positive("hidden");
  a.vocabulary = o.positive("vocabulary");
  a.context = o.positive("context");
  a.embedding_width = o.positive_or("embedding_width", a.hidden);
  a.narrow_ends = o.flag_or("narrow_ends", false);
  if (o.has("repeats")) a.repeats = read_repeats(o.object("repeats"), a.layers);
  a.streams = o.positive_or("streams", 1);
  a.altup = o.flag_or("altup", false);
  a.laurel_rank = o.count_or("laurel_rank", 0);
  a.block = choice<BlockKind>(o, "block");
  read_attention(o.object("attention"), a.hidden, a);
  if (o.has("recurrent")) a.recurrent = read_recurrent(o.object("recurrent"));
  if (o.has("sliding_window")) read_local(o.object("sliding_window"), "window", false, a);
  if (o.has("chunked_attention")) read_local(o.object("chunked_attention"), "chunk", true, a);
  if (o.has("linear_attention")) read_linear_attention(o.object("linear_attention"), a);
  if (o.has("mixers")) read_mixers(o, a);
  read_mlp(o.object("mlp"), a);
  if (o.has("mlps")) read_mlps(o, a);
  if (o.has("moe")) read_moe(o.object("moe"), a);
  read_norm(o.object("norm"), a);
  read_position(o.object("position"), a);
  read_head(o.object("head"), a);
  if (o.has("layered_input")) read_per_layer_input(o.object("layered_input"), a);
  a.output_scale = o.flag_or("output_scale", false);
  a.token_types = o.count_or("token_types", 0);
  a.residual_block = o.count_or("residual_block", 0);
  if (o.has("mtp")) read_mtp(o.object("mtp"), a);
  return a;
}

void check_published(const ModelCard& card) {
  if (!card.published) return;
  const Count counted = parameters(card.arch).total;
  if (counted != *card.published)
    throw InputError(
        fmt::format("{}: {} parameters are published, but the described model has {} ({:+}); correct one of the two",
                    card.source, *card.published, counted, counted - *card.published));
}

MediaEncoders read_media_encoders(const Object& o) {
  const MediaEncoders t{.vision = o.count_or("vision", 0),
                        .audio = o.count_or("audio", 0),
                        .projector = o.count_or("projector", 0),
                        .cross = o.count_or("cross", 0)};
  o.refuse_unread();
  return t;
}

void read_published(const Object& o, ModelCard& card) {
  card.published = o.positive("parameters");
  card.published_source = o.text("source");
  o.refuse_unread();
}

}  // namespace

bool is_model_file(const Value& value) { return value.is_object() && value.contains("llmcalc_model"); }

ModelCard read_model_file(const Value& value, const std::string& where) {
  const Object o(value, where);
  o.expects("llmcalc_model", [] { return json::Expected{{{"const", 1}}, Value::array({1})}; });
  if (const Count n = o.count("llmcalc_model"); n != 1)
    throw InputError(fmt::format("{}: \"llmcalc_model\" is {}; this program reads version 1", where, n));
  ModelCard card;
  card.source = where;
  card.name = o.text("name");
  if (card.name.empty()) throw InputError(where + ", \"name\": expected a name, got an empty string");
  card.title = o.text_or("title", card.name);
  if (o.has("aliases")) card.aliases = o.texts("aliases");
  card.family = o.text_or("family", "");
  card.arch = read_arch(o);
  if (o.has("towers")) card.media_encoders = read_media_encoders(o.object("towers"));
  if (o.has("published")) read_published(o.object("published"), card);
  if (o.has("stored_parameters")) card.stored = o.positive("stored_parameters");
  card.released = o.text_or("released", "");
  card.use = o.text_or("use", "");
  card.notes = o.text_or("notes", "");
  if (o.has("caveats")) card.caveats = o.texts("caveats");
  if (o.has("weights")) card.weights = read_weight_formats(o.object("weights"));
  if (o.has("products")) read_products(o.object("products"), card);
  o.expects("stored_bytes", stored_bytes_schema);
  const bool has_bytes = o.has("stored_bytes");
  o.refuse_unread();
  check_arch(card.arch, where);
  if (has_bytes) read_stored_bytes(o.object("stored_bytes"), card);
  check_weights(card);
  check_published(card);
  return card;
}

namespace {

Value mlp_json(const Arch& a) {
  Value v = {{"kind", name(a.mlp)}};
  if (a.mlp_width > 0) v["width"] = a.mlp_width;
  v["activation"] = name(a.activation);
  v["bias"] = a.mlp_bias;
  if (a.mlp_out_bias) v["out_bias"] = true;
  if (a.mlp_shift) v["shift"] = true;
  if (a.mlp_receptance) v["receptance"] = true;
  return v;
}

Value mixer_json(const LayerMixer& m, Count layers) {
  Value v = {{"layers", layer_pattern_json(m.layers, layers)}};
  if (m.reach.limited()) v["window"] = m.reach.tokens;
  if (m.attention != AttentionKind::none) v["attention"] = attention_json(m);
  if (m.recurrent.kind != RecurrentKind::none) v["recurrent"] = recurrent_json(m.recurrent);
  return v;
}

Value moe_json(const Arch& a) {
  const Moe& m = a.moe;
  Value v = {{"experts", m.experts}, {"top_k", m.top_k}, {"width", m.width}};
  if (m.zero_experts > 0) v["zero_experts"] = m.zero_experts;
  if (m.latent_width > 0) v["latent_width"] = m.latent_width;
  if (m.latent_norm) v["latent_norm"] = true;
  v["shared_experts"] = m.shared_experts;
  v["shared_width"] = m.shared_width;
  v["shared_gate"] = m.shared_gate;
  v["router_bias"] = m.router_bias;
  v["expert_bias"] = m.expert_bias;
  v["router_correction_bias"] = m.router_correction;
  if (m.router_scales) v["router_scales"] = true;
  if (m.with_dense_mlp) v["beside_dense"] = true;
  v["layers"] = layer_pattern_json(m.layers, a.layers);
  return v;
}

Value norm_json(const Arch& a) {
  Value v = {{"kind", name(a.norm)},
             {"placement", name(a.norm_placement)},
             {"per_layer", a.norms_per_layer},
             {"final", a.final_norm},
             {"embedding", a.embedding_norm}};
  if (!a.first_norm) v["first"] = false;
  if (a.sub_norms) v["sub_norms"] = true;
  return v;
}

Value head_json(const Arch& a) {
  Value v = {{"tied", a.tied_head}, {"bias", a.head_bias}};
  if (a.head.kind != HeadKind::next_token) v["kind"] = name(a.head.kind);
  if (!a.head.transform_bias) v["transform_bias"] = false;
  if (a.head.pooler) v["pooler"] = true;
  if (a.head.sentence_pair) v["sentence_pair"] = true;
  if (a.head.exit_gate) v["exit_gate"] = true;
  return v;
}

Value position_json(const Arch& a) {
  Value v = {{"kind", name(a.position)}};
  if (has_table(a.position)) v["rows"] = a.position_rows;
  if (a.added_rows > 0) v["added_rows"] = a.added_rows;
  if (a.layer_distances) v["per_layer"] = true;
  return v;
}

Value mtp_json(const Mtp& m) {
  return {{"modules", m.modules},   {"mixer_of", m.mixer_of},           {"mlp_of", m.mlp_of},
          {"own_norm", m.own_norm}, {"own_embedding", m.own_embedding}, {"own_head", m.own_head}};
}

Value media_encoders_json(const MediaEncoders& t) {
  Value v = Value::object();
  if (t.vision > 0) v["vision"] = t.vision;
  if (t.audio > 0) v["audio"] = t.audio;
  if (t.projector > 0) v["projector"] = t.projector;
  if (t.cross > 0) v["cross"] = t.cross;
  return v;
}

void put_arch(Value& v, const Arch& a) {
  v["layers"] = a.layers;
  v["hidden"] = a.hidden;
  v["vocabulary"] = a.vocabulary;
  v["context"] = a.context;
  if (a.embedding_width != a.hidden) v["embedding_width"] = a.embedding_width;
  if (a.narrow_ends) v["narrow_ends"] = true;
  if (a.has_repeats()) v["repeats"] = repeats_json(a.repeats, a.layers);
  if (a.streams > 1) v["streams"] = a.streams;
  if (a.altup) v["altup"] = true;
  if (a.laurel_rank > 0) v["laurel_rank"] = a.laurel_rank;
  v["block"] = name(a.block);
  v["attention"] = attention_json(a);
  if (a.recurrent.kind != RecurrentKind::none) v["recurrent"] = recurrent_json(a.recurrent);
  const auto& [reach, local_layers] = a.local;
  if (reach.limited())
    v[reach.chunked ? "chunked_attention" : "sliding_window"] = {
        {reach.chunked ? "chunk" : "window", reach.tokens}, {"layers", layer_pattern_json(local_layers, a.layers)}};
  if (!a.linear_layers.empty()) v["linear_attention"] = {{"layers", layer_pattern_json(a.linear_layers, a.layers)}};
  for (const LayerMixer& m : a.mixers) v["mixers"].push_back(mixer_json(m, a.layers));
  v["mlp"] = mlp_json(a);
  for (const LayerMlp& m : a.mlps)
    v["mlps"].push_back({{"width", m.width}, {"layers", layer_pattern_json(m.layers, a.layers)}});
  if (a.has_experts()) v["moe"] = moe_json(a);
  v["norm"] = norm_json(a);
  v["position"] = position_json(a);
  v["head"] = head_json(a);
  if (a.token_types > 0) v["token_types"] = a.token_types;
  if (a.residual_block > 0) v["residual_block"] = a.residual_block;
  if (a.per_layer.width > 0) v["layered_input"] = {{"rows", a.per_layer.rows}, {"width", a.per_layer.width}};
  if (a.output_scale) v["output_scale"] = true;
  if (a.mtp.modules > 0) v["mtp"] = mtp_json(a.mtp);
}

/// JSON text of a scalar. Invalid UTF-8, which paths may contain, is replaced.
std::string scalar_text(const Value& v) { return v.dump(-1, ' ', false, Value::error_handler_t::replace); }

/// JSON on one line, with a space after every comma and colon.
std::string one_line(const Value& v) {
  if (!v.is_structured()) return scalar_text(v);
  std::string out;
  for (const auto& [key, value] : v.items()) {
    out += out.empty() ? "" : ", ";
    if (v.is_object()) out += scalar_text(key) + ": ";
    out += one_line(value);
  }
  return v.is_object() ? "{" + out + "}" : "[" + out + "]";
}

}  // namespace

Value model_file_json(const ModelCard& card) {
  Value v = {{"llmcalc_model", 1}, {"name", card.name}};
  v["title"] = card.title;
  if (!card.aliases.empty()) v["aliases"] = card.aliases;
  if (!card.family.empty()) v["family"] = card.family;
  put_arch(v, card.arch);
  if (card.media_encoders != MediaEncoders()) v["towers"] = media_encoders_json(card.media_encoders);
  if (card.published) v["published"] = {{"parameters", *card.published}, {"source", card.published_source}};
  if (card.stored) v["stored_parameters"] = *card.stored;
  if (card.weights) v["weights"] = weight_formats_json(*card.weights);
  if (card.weights && card.weights->any_held()) v["stored_bytes"] = stored_bytes_json(card);
  if (card.products) v["products"] = products_json(card);
  if (!card.released.empty()) v["released"] = card.released;
  if (!card.use.empty()) v["use"] = card.use;
  if (!card.notes.empty()) v["notes"] = card.notes;
  if (!card.caveats.empty()) v["caveats"] = card.caveats;
  return v;
}

std::string model_file_text(const Value& file) {
  std::string out;
  for (const auto& [key, value] : file.items())
    out += fmt::format("{}\n  {}: {}", out.empty() ? "{" : ",", scalar_text(key), one_line(value));
  return out + "\n}\n";
}

}  // namespace llmcalc
