#include "presets/import/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <utility>

#include "presets/arch_check.hpp"
#include "presets/import/families.hpp"
#include "presets/import/foreign_class.hpp"
#include "presets/import/numerics.hpp"
#include "presets/import/quantization/quantization.hpp"
#include "presets/import/vision/vision.hpp"
#include "text/counted.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using import::Config;
using import::Family;

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> out;
    for (const auto group : {import::llama_families,       import::hunyuan_families,      import::gpt_families,
                             import::falcon_families,      import::gemma_families,        import::cohere_families,
                             import::olmo_families,        import::phi_families,          import::stablelm_families,
                             import::qwen_families,        import::deepseek_families,     import::glm_families,
                             import::mixtral_families,     import::llama4_families,       import::minimax_families,
                             import::mimo_families,        import::delta_families,        import::mamba_families,
                             import::rwkv_families,        import::plamo_families,        import::xlstm_families,
                             import::griffin_families,     import::lfm_families,          import::encoder_families,
                             import::deepseek_v4_families, import::nemotron_nas_families, import::diffusion_families,
                             import::bailing_families,     import::ernie_families,        import::laguna_families})
      for (const Family& f : group()) out.push_back(f);
    return out;
  }();
  return all;
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Model types of a family.
std::vector<std::string> types(const Family& f) { return words(f.model_types); }

const Family* family_called(const std::string& model_type) {
  for (const Family& f : families())
    if (contains(types(f), model_type)) return &f;
  return nullptr;
}

/// The three known types closest in name, however distant.
std::string three_nearest(const std::string& type) {
  const std::vector<std::string> near = closest(type, importable_types());
  return fmt::format("{}, {} and {}", in_quotes(near[0]), in_quotes(near[1]), in_quotes(near[2]));
}

[[noreturn]] void refuse_type(const Config& c, const std::string& type) {
  c.refuse(
      fmt::format("model_type {} is not supported; the closest are {} ('llmcalc list families' lists all {}); for "
                  "other models, write an llmcalc model file",
                  in_quotes(type), three_nearest(type), importable_types().size()));
}

/// model_type of the text model in a composite config that omits it: "<outer>_text" unless it is listed here.
std::string text_type(const std::string& outer) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> known = {
      {{"llava llava_next llava_next_video video_llava vipllava", "llama"},
       {"idefics3 smolvlm perception_lm deepseek_vl deepseek_vl_hybrid janus voxtral", "llama"},
       {"mistral3 idefics2", "mistral"},
       {"paligemma", "gemma"},
       {"internvl llava_onevision got_ocr2 ovis2 qwen2_audio audioflamingo3", "qwen2"},
       {"aya_vision cohere2_vision", "cohere2"},
       {"granite_speech", "granite"},
       {"lfm2_vl", "lfm2"},
       {"mllama", "mllama_text_model"},
       {"fuyu", "persimmon"},
       {"deepseek_vl_v2", "deepseek_v2"}}};
  for (const auto& [outers, text] : known)
    if (contains(words(outers), outer)) return std::string(text);
  return outer + "_text";
}

/// Path of keys to the text part of a composite config: text_config in hf; llm_config in hub OpenGVLab/InternVL3-8B
/// and others; language_config in hub deepseek-ai/deepseek-vl2; thinker_config and a further key in hf qwen2_5_omni
/// and qwen3_omni_moe, whose thinker is also a composite config.
std::vector<std::string> text_keys(const Config& c) {
  for (const char* key : {"text_config", "llm_config", "language_config"})
    if (c.has(key)) return {key};
  if (!c.has("thinker_config")) return {};
  return {"thinker_config", "text_config"};
}

/// The text part of a composite config. It inherits "tie_word_embeddings" if it omits that key. Changes `where` to
/// the part's location.
json::Value text_part(const Config& outer, std::string& where) {
  const json::Value* part = &outer.value();
  for (const std::string& key : text_keys(outer)) {
    part = part->is_object() && part->contains(key) ? &(*part)[key] : nullptr;
    where += ", " + in_quotes(key);
    if (part == nullptr || !part->is_object())
      outer.refuse(fmt::format("{} is not an object; expected the text model's config", in_quotes(key)));
  }
  json::Value text = *part;
  if (!text.contains("model_type")) text["model_type"] = text_type(outer.text("model_type", ""));
  if (!text.contains("tie_word_embeddings") && outer.has("tie_word_embeddings"))
    text["tie_word_embeddings"] = outer.flag("tie_word_embeddings", true);
  return text;
}

/// Last component of a path, without ".json".
std::string stem(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  if (const auto slash = path.rfind('/'); slash != std::string::npos) path = path.substr(slash + 1);
  return path.ends_with(".json") ? path.substr(0, path.size() - 5) : path;
}

/// Whether a config came from a named file rather than through a pipe.
bool is_named(const std::string& where) { return where != "standard input" && !where.starts_with("/dev/"); }

/// The checkpoint's name if the config states it; otherwise the name of the file, or of the folder that contains a
/// config.json.
std::string model_name(const Config& c, const std::string& where) {
  const std::string said = stem(c.text("_name_or_path", ""));
  if (!said.empty()) return said;
  if (!is_named(where)) return c.text("model_type", "model");
  const std::string file = stem(where);
  if (file != "config") return file;
  const auto slash = where.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : stem(where.substr(0, slash));
  return folder.empty() || folder == "." || folder == ".." ? c.text("model_type", "model") : folder;
}

/// Whether an assumed default is specific to the family and affects the model. False for defaults that are derived
/// from stated sizes (4 x hidden, equal to heads), that a list of layers replaces, or that belong to a part that the
/// model lacks.
bool matters(const Config& c, const import::Assumption& assumed, const Arch& a) {
  static constexpr std::array<std::string_view, 11> following = {
      "n_inner",         "ffn_hidden_size",         "num_kv_heads",           "kv_n_heads",
      "widening_factor", "no_rope_layer_interval",  "swa_head_dim",           "num_ln_in_parallel_attn",
      "swa_v_head_dim",  "swa_num_key_value_heads", "swa_num_attention_heads"};
  static constexpr std::array<std::string_view, 3> listed = {"sliding_window_pattern", "full_attention_interval",
                                                             "global_attn_every_n_layers"};
  if (c.has("layer_types") && std::find(listed.begin(), listed.end(), assumed.key) != listed.end()) return false;
  if (assumed.key == "head_dim") return a.attention == AttentionKind::grouped;
  if (assumed.key.find("window") != std::string::npos || assumed.key == "attention_chunk_size")
    return a.local.reach.limited();
  return std::find(following.begin(), following.end(), assumed.key) == following.end();
}

std::string defaults_taken(const Config& c, const Arch& a) {
  std::string out;
  for (const import::Assumption& assumed : c.assumptions())
    if (matters(c, assumed, a)) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", assumed.key, assumed.value);
  return out;
}

bool reads_images_in_layers(const Config& c) { return c.text("model_type", "") == "mllama_text_model"; }

/// Number of layers in the config that are outside the text model (Llama 3.2, Nemotron-NAS).
Count layers_left_out(const Config& c, const Arch& a) {
  if (reads_images_in_layers(c)) return static_cast<Count>(import::image_layers(c).size());
  return c.has("block_configs") ? c.count("num_hidden_layers", a.layers) - a.layers : 0;
}

void add_left_out(const Config& c, Count layers, std::vector<std::string>& notes) {
  if (layers <= 0) return;
  if (reads_images_in_layers(c))
    notes.push_back(
        fmt::format("{} that only read images are counted separately from the text model: text without images "
                    "skips them, so later layers are renumbered; their image cache is not counted",
                    counted(layers, "layer")));
  else
    notes.push_back(
        fmt::format("{} with neither attention nor MLP are omitted, as they have no weights and no computation; "
                    "later layers are renumbered",
                    counted(layers, "layer")));
}

void add_modules(const Config& c, const Arch& a, std::vector<std::string>& notes) {
  const import::UncountedModules u = import::uncounted_modules(c, a);
  if (u.modules == 0) return;
  notes.push_back(fmt::format("{}{} {} not counted{}", counted(u.modules, "MTP module"),
                              u.parameters > 0 ? fmt::format(" of {} parameters", u.parameters) : "",
                              u.modules == 1 ? "is" : "are",
                              u.if_named ? "; set \"num_nextn_predict_layers\": 1 in the config to count it" : ""));
}

/// Whether this is a block diffusion model, which generates the tokens of a block in several passes and reads earlier
/// blocks from a cache.
bool writes_blocks(const Config& c) { return contains({"llada2_moe", "sdar", "sdar_moe"}, c.text("model_type", "")); }

/// Caveats about excluded parts, and about family defaults in use.
std::vector<std::string> caveats(const Config& c, const Arch& a) {
  std::vector<std::string> out;
  add_left_out(c, layers_left_out(c, a), out);
  add_modules(c, a, out);
  if (writes_blocks(c))
    out.emplace_back(
        "the model generates blocks of tokens in several passes each, but is counted as a decoder with one token per "
        "pass");
  if (c.has("sparse_config")) {  // hub openbmb/MiniCPM4-8B, MiniCPM-SALA
    c.ignore({"sparse_config"});
    out.emplace_back(
        "attention to the blocks selected by \"sparse_config\" is counted as attention to all tokens, which is exact "
        "for texts of up to \"dense_len\" tokens");
  }
  if (const std::string taken = defaults_taken(c, a); !taken.empty())
    out.push_back(fmt::format("{} omits some sizes, so the family's defaults are used: {}", c.where(), taken));
  return out;
}

Arch arch_of(const Family& family, const Config& c) {
  try {
    return family.arch(c, family.defaults);
  } catch (const Overflow&) {
    c.refuse("a product of its sizes exceeds 2^63; correct the implausible size");
  }
}

/// Kind of head of the class in "architectures". A bare model has no head (MistralModel), and label logits are
/// outside the model (LlamaForSequenceClassification, Qwen2ForRewardModel). ChatGLM's Model has a vocabulary head
/// (hub THUDM/chatglm3-6b), as do classes with Head in their names (GPT2LMHeadModel). For BERT and its relatives, the
/// importers determine the head.
enum class ClassHead : std::uint8_t { vocabulary, none, labels };
ClassHead class_head(const Config& c, const Arch& a) {
  if (import::names_labels(c)) return ClassHead::labels;
  if (a.bidirectional) return ClassHead::vocabulary;
  const std::string name = import::named_class(c);
  const bool bare = name.ends_with("Model") && name.find("Head") == std::string::npos && !name.starts_with("ChatGLM");
  return bare ? ClassHead::none : ClassHead::vocabulary;
}

/// Removes a head that the class does not have, and adds a caveat if label logits replace it.
void take_class(ModelCard& card, const Config& c) {
  Arch& a = card.arch;
  const ClassHead head = class_head(c, a);
  const bool plain = a.streams == 1 && a.residual_block == 0 && !a.narrows_head();
  if (head == ClassHead::vocabulary || !plain) return;
  if (!a.bidirectional) a.head = {.kind = HeadKind::none};
  a.tied_head = a.head_bias = false;
  a.mtp = {};
  if (head == ClassHead::labels)
    card.caveats.push_back(fmt::format("{} has label logits instead of token logits; their weights are not counted",
                                       import::named_class(c)));
}

ModelCard import_text(const Config& c) {
  import::refuse_draft(c);
  const std::string type = c.text("model_type", "");
  const Family* family = family_called(type);
  if (family == nullptr) refuse_type(c, type);
  ModelCard card;
  card.family = type;
  card.arch = arch_of(*family, c);
  import::refuse_unread_lists(c, card.arch);
  const bool encoder_alone = card.arch.is_encoder() && import::names_encoder_alone(c);
  if (c.flag("is_encoder_decoder", false) && !card.arch.is_encoder_decoder() && !encoder_alone)
    c.refuse("\"is_encoder_decoder\" is true, but " + in_quotes(type) +
             " is not supported as an encoder-decoder model");
  check_arch(card.arch, c.where());
  card.caveats = caveats(c, card.arch);
  if (std::string note = import::foreign_class(c); !note.empty()) card.caveats.push_back(std::move(note));
  card.renumbered = layers_left_out(c, card.arch) > 0;
  take_class(card, c);
  return card;
}

/// Whether a config has processors for images or audio. Such a config has the text model's sizes at its top level.
bool has_processors(const Config& c) { return c.has("img_processor") || c.has("audio_processor"); }

/// Adds the encoders, with their caveats before the text model's caveats.
void take_media_encoders(ModelCard& card, const Config& whole, const Config& text) {
  const bool composite = &whole != &text;
  import::CountedMediaEncoders counted = import::count_media_encoders(whole, card.arch.hidden);
  card.media_encoders = counted.media_encoders;
  std::vector<std::string>& said = counted.caveats;
  if (said.empty() && counted.media_encoders == MediaEncoders() && (composite || has_processors(whole)))
    said.emplace_back("text part only: vision and audio encoders are not counted");
  if (card.media_encoders.cross == 0 && import::has_image_experts(text))
    said.emplace_back("text experts only: image experts in the same layers are not counted");
  card.caveats.insert(card.caveats.begin(), said.begin(), said.end());
  card.unknown_keys.insert(card.unknown_keys.end(), counted.unknown_keys.begin(), counted.unknown_keys.end());
}

void take_weights(ModelCard& card, const Config& whole, const Config& text) {
  import::StoredWeights stored = import::stored_weights(whole, text, card.arch);
  card.weights = stored.formats;
  card.products = stored.products;
  card.product_parts = stored.product_parts;
  card.unknown_keys.insert(card.unknown_keys.end(), stored.unknown_keys.begin(), stored.unknown_keys.end());
  card.caveats.insert(card.caveats.end(), stored.caveats.begin(), stored.caveats.end());
}

/// Whether an object in the config, such as the text model's or an encoder's, repeats this value. Composite configs
/// repeat sizes at the top level for older readers.
bool repeats_part(const Config& whole, const Config::Unread& u) {
  const auto& parts = whole.value();
  return std::any_of(parts.begin(), parts.end(), [&](const json::Value& part) {
    return part.is_object() && part.contains(u.key) && part[std::string(u.key)] == *u.value;
  });
}

/// Adds unknown keys of a composite config that are outside its text model and its encoders.
void add_unknown_around(const Config& whole, const std::string& path, std::vector<std::string>& out) {
  whole.ignore({"text_config", "vision_config", "audio_config"});
  for (const Config::Unread& u : whole.unknown())
    if (!repeats_part(whole, u)) out.push_back(path + std::string(u.key));
  if (whole.has("thinker_config")) add_unknown_around(whole.object("thinker_config"), "thinker_config.", out);
}

/// Adds the unknown keys of all parts. The keys of the quantization block and the encoders come last.
void take_unknown(ModelCard& card, const Config& whole, const Config& text) {
  std::vector<std::string> all;
  for (const Config::Unread& u : text.unknown()) all.emplace_back(u.key);
  if (&whole != &text) add_unknown_around(whole, "", all);
  card.unknown_keys.insert(card.unknown_keys.begin(), all.begin(), all.end());
}

/// Adds the keys of both configs that were never read.
void take_unread(ModelCard& card, const Config& whole, const Config& text) {
  card.unread_keys = whole.unread();
  if (&whole == &text) return;
  std::string path;
  for (const std::string& key : text_keys(whole)) path += key + ".";
  for (const std::string& key : text.unread()) card.unread_keys.push_back(path + key);
}

/// Fills the card from all parts of the config. `text`: the part of `whole` that describes the text model, or `whole`.
void take_parts(ModelCard& card, const Config& whole, const Config& text) {
  card = import_text(text);
  take_weights(card, whole, text);
  take_media_encoders(card, whole, text);
  take_unknown(card, whole, text);
  take_unread(card, whole, text);
}

}  // namespace

std::vector<std::string> importable_types() {
  std::vector<std::string> out;
  for (const Family& f : families())
    for (std::string& type : types(f)) out.push_back(std::move(type));
  std::sort(out.begin(), out.end());
  return out;
}

Runnable import_runnable(const json::Value& config, const std::string& where) {
  const Config c(config, where);
  if (c.has("quantization_config"))
    c.refuse("\"quantization_config\": quantized weights cannot be run; use a checkpoint in fp32, bf16 or fp16");
  const bool composite = !text_keys(c).empty();
  if (composite) import::refuse_draft(c);
  std::string place = where;
  const json::Value text = composite ? text_part(c, place) : config;
  const Config part(text, place, composite);
  const Arch arch = import_text(part).arch;
  return {part.text("model_type", ""), arch, import::numerics(part, arch)};
}

ModelCard import_config(const json::Value& config, const std::string& where) {
  const Config c(config, where);
  const bool composite = !text_keys(c).empty();
  if (!composite && !c.has("model_type"))
    c.refuse("\"model_type\" is missing; it names the family of a Hugging Face config.json, for example \"llama\"");
  ModelCard card;
  if (composite) {
    import::refuse_draft(c);
    std::string place = where;
    const json::Value text = text_part(c, place);
    const Config part(text, place, true);
    take_parts(card, c, part);
  } else {
    take_parts(card, c, c);
  }
  card.name = card.title = printable(model_name(c, where));
  card.source = where;
  return card;
}

}  // namespace llmcalc
