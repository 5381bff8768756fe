#include "presets/import/vision/vision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "text/counted.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

Count colors(const Config& v) {
  v.ignore({"num_channels", "in_channels", "in_chans"});  // synonyms; configs of Qwen's omni models contain two of them
  for (const std::string_view key : {"num_channels", "in_channels", "in_chans"})
    if (v.has(key)) return v.size(key, 3);
  return 3;
}

Count side(const Config& c, std::string_view key, Count otherwise) {
  const json::Value* value = c.find(key);
  if (value == nullptr || !value->is_array()) return c.size(key, otherwise);
  const std::vector<Count> both = c.counts(key);
  if (both.size() != 2 || both[0] != both[1] || both[0] < 1)
    c.refuse(fmt::format("{}: expected a size, or a list of two equal sizes, got {}", in_quotes(key), value->dump()));
  return both[0];
}

Count patches(const Config& v, Count image_size, Count patch_size) {
  const Count along = side(v, "image_size", image_size) / side(v, "patch_size", patch_size);
  return mul(along, along);
}

ModuleTally vit_block(Count h, Count m) {
  return ModuleTally().copies(4, ModuleTally().linear(h, h)).linear(h, m).linear(m, h).layer_norms(2, h);
}

namespace {

/// Keys of an encoder's config that do not affect parameter counts, in addition to harmless_keys.hpp.
constexpr std::array harmless = {
    std::string_view{"tie_word_embeddings"}, std::string_view{"logit_scale_init_value"}, std::string_view{"vocab_size"},
    // Heads divide the width; activations, positions without a table, epsilons and rates have no parameters.
    std::string_view{"num_heads"}, std::string_view{"num_attention_heads"}, std::string_view{"vt_num_attention_heads"},
    std::string_view{"encoder_attention_heads"}, std::string_view{"hidden_act"}, std::string_view{"hidden_activation"},
    std::string_view{"activation_function"}, std::string_view{"activation_func"},
    std::string_view{"projector_hidden_act"}, std::string_view{"position_embedding_type"},
    std::string_view{"pos_emb_type"}, std::string_view{"pos_emb_interpolation_mode"},
    std::string_view{"init_pos_emb_time"}, std::string_view{"rope_mode"}, std::string_view{"rope_theta"},
    std::string_view{"rope_parameters"}, std::string_view{"rope_scaling"}, std::string_view{"max_position_embeddings"},
    std::string_view{"layer_norm_eps"}, std::string_view{"rms_norm_eps"}, std::string_view{"norm_eps"},
    std::string_view{"projector_ln_eps"}, std::string_view{"drop_path_rate"},
    std::string_view{"layer_scale_init_value"},
    // Selection, merging and pooling of rows, and the number of rows.
    std::string_view{"window_size"}, std::string_view{"fullatt_block_indexes"}, std::string_view{"tokens_per_second"},
    std::string_view{"image_size"}, std::string_view{"num_image_tokens"}, std::string_view{"head_dim"},
    std::string_view{"merge_type"}, std::string_view{"video_attn_type"}, std::string_view{"vision_segment_max_frames"},
    std::string_view{"pooling_kernel_size"}, std::string_view{"default_output_length"},
    std::string_view{"pixel_shuffle_ratio"}, std::string_view{"vision_feature_layer"},
    std::string_view{"vision_feature_select_strategy"}, std::string_view{"multi_modal_projector_bias"},
    std::string_view{"global_head_dim"},
    // CLIP's projection, which models with CLIP's encoder do not use.
    std::string_view{"projection_dim"}};

bool says(std::string_view list, std::string_view type) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == type) return true;
    at = end + 1;
  }
  return false;
}

template <typename Row>
const Row* named(const std::vector<Row>& rows, std::string_view type) {
  for (const Row& row : rows)
    if (says(row.model_types, type)) return &row;
  return nullptr;
}

template <typename Row, typename... Lists>
std::vector<Row> together(const Lists&... lists) {
  std::vector<Row> all;
  (all.insert(all.end(), lists.begin(), lists.end()), ...);
  return all;
}

/// A kind of encoder, for images or for sound: the key of its config, and the supported families.
struct Sense {
  std::string_view key, name;
  Count MediaEncoders::*parameters;
  std::vector<MediaEncoderFamily> families;
  std::vector<Composite> composites;
};

const Sense& sight() {
  static const Sense all{
      "vision_config", "vision encoder", &MediaEncoders::vision,
      together<MediaEncoderFamily>(qwen_media_encoders(), clip_media_encoders(), own_media_encoders(),
                                   kimi_media_encoders(), mllama_media_encoders(), ernie_media_encoders(),
                                   omni_media_encoders(), hub_media_encoders()),
      together<Composite>(qwen_composites(), clip_composites(), own_composites(), kimi_composites(),
                          mllama_composites(), ernie_composites(), omni_composites(), hub_composites())};
  return all;
}
const Sense& hearing() {
  static const Sense all{
      "audio_config", "audio encoder", &MediaEncoders::audio,
      together<MediaEncoderFamily>(audio_media_encoders(), omni_media_encoders(), hub_audio_media_encoders()),
      together<Composite>(audio_composites(), omni_audio_composites(), hub_audio_composites())};
  return all;
}

/// Text that lists the sizes for which the class's defaults apply, because the config omits them.
std::string defaults_taken(const Config& c) {
  std::string out;
  for (const Assumption& a : c.assumptions()) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", a.key, a.value);
  return out;
}

/// Whether the key only states that every head has separate keys and values.
bool repeats_heads(const Config& media_encoder, std::string_view key) {
  const json::Value* heads = media_encoder.find("num_attention_heads");
  return key == "num_key_value_heads" && heads != nullptr && *media_encoder.find(key) == *heads;
}

void add_unread(const Config& media_encoder, std::string_view key, CountedMediaEncoders& out) {
  for (const Config::Unread& u : media_encoder.unknown())
    if (std::find(harmless.begin(), harmless.end(), u.key) == harmless.end() && !repeats_heads(media_encoder, u.key))
      out.unknown_keys.push_back(fmt::format("{}.{}", key, u.key));
}

void count_known(const Config& whole, const Config& media_encoder, Count hidden, const Sense& sense,
                 const Composite& model, const MediaEncoderFamily& family, CountedMediaEncoders& out) {
  const MediaEncoder counted = family.count(media_encoder);
  out.media_encoders.*sense.parameters = counted.parameters;
  if (model.projector != nullptr)
    out.media_encoders.projector =
        add(out.media_encoders.projector, model.projector({whole, media_encoder, counted.width, hidden}));
  else if (counted.width != hidden)
    media_encoder.refuse(fmt::format(
        "the encoder's output is {} wide, but the text model is {} wide; they must be equal", counted.width, hidden));
  if (model.cross != nullptr)
    out.media_encoders.cross =
        add(out.media_encoders.cross, model.cross({whole, media_encoder, counted.width, hidden}));
  add_unread(media_encoder, sense.key, out);
  if (const std::string taken = defaults_taken(media_encoder); !taken.empty())
    out.caveats.push_back(
        fmt::format("{} omits some sizes, so the encoder's defaults are used: {}", media_encoder.where(), taken));
}

void count_checked(const Config& whole, const Config& media_encoder, Count hidden, const Sense& sense,
                   const Composite& model, const MediaEncoderFamily& family, CountedMediaEncoders& out) {
  try {
    count_known(whole, media_encoder, hidden, sense, model, family, out);
  } catch (const Overflow&) {
    media_encoder.refuse("a product of its sizes exceeds 2^63; correct the implausible size");
  }
}

void count_sense(const Config& whole, Count hidden, const Sense& sense, CountedMediaEncoders& out) {
  if (!whole.has(sense.key)) return;
  const json::Value& part = *whole.find(sense.key);
  if (!part.is_object()) whole.refuse(fmt::format("{}: expected an object, got {}", in_quotes(sense.key), part.dump()));
  const Config media_encoder(part, whole.where() + ", " + in_quotes(sense.key), true);
  const Composite* model = named(sense.composites, whole.text("model_type", ""));
  std::string type = media_encoder.text("model_type", model == nullptr ? "" : model->media_encoder);
  if (model != nullptr && model->always) type = model->media_encoder;
  if (type == "vision") type = media_encoder.text("model_name", type);  // in DeepSeek's configs
  const MediaEncoderFamily* family = model == nullptr ? nullptr : named(sense.families, type);
  if (family != nullptr) return count_checked(whole, media_encoder, hidden, sense, *model, *family, out);
  const std::string which = type.empty() ? std::string() : " " + in_quotes(type);
  out.caveats.push_back(fmt::format("text part only: the {}{} is not counted", sense.name, which));
}

/// The object that contains the configs of the text model and the encoders.
std::optional<Config> inner(const Config& whole) {
  if (!whole.has("thinker_config") || !whole.find("thinker_config")->is_object()) return std::nullopt;
  return whole.object("thinker_config");
}

}  // namespace

CountedMediaEncoders count_media_encoders(const Config& whole, Count hidden) {
  CountedMediaEncoders out;
  const std::optional<Config> thinker = inner(whole);
  if (whole.text("model_type", "") == "phi4mm") count_phi4mm(whole, hidden, out);
  if (whole.text("model_type", "") == "phi3_v") count_phi3v(whole, hidden, out);
  for (const Sense* sense : {&sight(), &hearing()}) count_sense(thinker ? *thinker : whole, hidden, *sense, out);
  if (thinker && whole.has("talker_config"))
    out.caveats.emplace_back("thinker only: the talker and the vocoder, which generate speech, are not counted");
  if (thinker) whole.ignore({"enable_audio_output", "enable_talker", "token2wav_config", "code2wav_config"});
  return out;
}

}  // namespace llmcalc::import
