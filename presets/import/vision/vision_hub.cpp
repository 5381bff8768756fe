// Encoders that are defined by a checkpoint's code: Phi-3 vision, Phi-4 multimodal, DeepSeek-OCR.

#include <fmt/format.h>

#include "presets/import/vision/vision.hpp"

namespace llmcalc::import {

namespace {

/// SigLIP's encoder with its head (vision_clip.cpp), for Phi-4: patch embedding (h, c, p, p) with bias, position
/// embeddings of a square image, vit_blocks, a LayerNorm; a pooling head: probe h, attention 4 (h^2 + h), a LayerNorm
/// and an MLP.
ModuleTally phi4_sight(Count c, Count h, Count m, Count layers, Count image, Count p) {
  const Count along = image / p;
  return ModuleTally()
      .linear(mul(c, p, p), h)
      .table(mul(along, along), h)
      .copies(layers, vit_block(h, m))
      .layer_norms(1, h)
      .numbers(h)
      .copies(4, ModuleTally().linear(h, h))
      .layer_norms(1, h)
      .linear(h, m)
      .linear(m, h);
}

/// hf phi4_multimodal/modeling_phi4_multimodal.py, Phi4MultimodalVisionModel.
MediaEncoder phi4_vision(const Config& v) {
  const Count h = v.size("hidden_size", 1152);
  return {phi4_sight(colors(v), h, v.size("intermediate_size", 4304), v.size("num_hidden_layers", 27),
                     side(v, "image_size", 448), side(v, "patch_size", 14))
              .total(),
          h};
}

/// Two matrices with biases: one from the width of the encoder's rows to the text model's width, and a square matrix.
ModuleTally two_matrices(Count in, Count hidden) { return ModuleTally().linear(in, hidden).linear(hidden, hidden); }

/// Phi4MultimodalImageEmbedding: two matrices, and two rows that separate parts of an image.
Count phi4_vision_projector(const Joint& j) { return two_matrices(j.width, j.hidden).numbers(mul(2, j.width)).total(); }

/// Sizes of an audio conformer: width h, MLP width m, heads, channels of the layers' convolutions (outer e, depthwise
/// x, separable s) and their taps, channels of the first convolutions and their time reduction, values per frame,
/// rows of the distance table.
struct Conformer {
  Count h, m, heads, layers, e, x, s, taps, channels, shortens, frame, distances;
};

/// Phi4MultimodalAudioModel. First convolutions: 9 taps from 1 to c channels, then for each further halving a
/// depthwise convolution of 9 taps and a c x c matrix, all with biases; `out` projects the channels of the shortened
/// frame. Relative positions, shared by all layers: a table of rows x heads. A layer: two gated MLPs with LayerNorms,
/// attention 4 (h^2 + h), a convolution with a LayerNorm (h to 2 e with two more biases, depthwise taps, h x to s, h
/// to e), two LayerNorms. Also a mean and a deviation for each value of a frame: buffers, which are saved with the
/// weights.
Count conformer(const Config& c, const Conformer& s) {
  Count frame = s.frame, halvings = 0;
  for (Count n = 1; n < s.shortens; n = mul(n, 2), ++halvings) frame = ceil_div(frame, 2);
  if (s.shortens != Count{1} << halvings || halvings == 0)
    c.refuse(fmt::format("\"time_reduction\": expected 2, 4, 8 or another power of 2, got {}", s.shortens));
  const ModuleTally mlp = ModuleTally().layer_norms(1, s.h).linear(s.h, mul(2, s.m)).linear(s.m, s.h);
  const Count wide = mul(s.h, s.x);
  const ModuleTally convolution = ModuleTally()
                                      .layer_norms(1, s.h)
                                      .linear(s.h, mul(2, s.e))
                                      .numbers(mul(2, s.e))
                                      .table(wide, add(s.taps, 1))
                                      .linear(wide, s.s)
                                      .linear(s.h, s.e);
  const ModuleTally layer =
      ModuleTally().copies(2, mlp).copies(4, ModuleTally().linear(s.h, s.h)).copies(1, convolution).layer_norms(2, s.h);
  const ModuleTally halving = ModuleTally().table(s.channels, 10).linear(s.channels, s.channels);
  return ModuleTally()
      .table(s.channels, 10)
      .copies(halvings - 1, halving)
      .linear(mul(s.channels, frame), s.h)
      .table(s.distances, s.heads)
      .copies(s.layers, layer)
      .numbers(mul(2, s.frame))
      .total();
}

/// Location of a size in a config: under `key` in the object `object`, or at the top level if `object` is empty.
struct SizeName {
  std::string_view object, key;
};

/// Names of the conformer sizes that differ between hf's configs and the configs of the hub's code.
struct ConformerNames {
  std::string_view h, m, heads, s;
  SizeName channels, far, symmetric;
};
constexpr ConformerNames hf_conformer{.h = "hidden_size",
                                      .m = "intermediate_size",
                                      .heads = "num_attention_heads",
                                      .s = "depthwise_separable_out_channel",
                                      .channels = {"", "nemo_conv_channels"},
                                      .far = {"", "bias_max_distance"},
                                      .symmetric = {"", "bias_symmetric"}};
/// hub microsoft/Phi-4-multimodal-instruct, speech_conformer_encoder.py.
constexpr ConformerNames hub_conformer{.h = "attention_dim",
                                       .m = "linear_units",
                                       .heads = "attention_heads",
                                       .s = "depthwise_seperable_out_channel",
                                       .channels = {"nemo_conv_settings", "conv_channels"},
                                       .far = {"relative_attention_bias_args", "t5_bias_max_distance"},
                                       .symmetric = {"relative_attention_bias_args", "t5_bias_symmetric"}};

/// Calls read(object, key) with the object that `name` refers to, or with the whole config if `name` has no object.
/// Returns `otherwise` if the config lacks the object.
template <typename T, typename Read>
T named(const Config& c, const SizeName& name, T otherwise, const Read& read) {
  if (name.object.empty()) return read(c, name.key);
  return c.has(name.object) ? read(c.object(name.object), name.key) : otherwise;
}

/// A conformer encoder whose config uses the names `n`.
MediaEncoder conformer(const Config& c, const ConformerNames& n) {
  const auto size = [&](const SizeName& name, Count otherwise) {
    return named(c, name, otherwise, [&](const Config& in, std::string_view key) { return in.size(key, otherwise); });
  };
  const auto flag = [](const Config& in, std::string_view key) { return in.flag(key, false); };
  const Count h = c.size(n.h, 1024), far = size(n.far, 1000);
  const Conformer s{.h = h,
                    .m = c.size(n.m, 1536),
                    .heads = c.size(n.heads, 16),
                    .layers = c.size("num_blocks", 24),
                    .e = c.size("ext_pw_out_channel", 1024),
                    .x = c.size("depthwise_multiplier", 1),
                    .s = c.size(n.s, 1024),
                    .taps = c.size("kernel_size", 3),
                    .channels = size(n.channels, 1024),
                    .shortens = c.size("time_reduction", 8),
                    .frame = c.size("input_size", 80),
                    .distances = named(c, n.symmetric, false, flag) ? far : mul(2, far)};
  return {conformer(c, s), h};
}

MediaEncoder phi4_audio(const Config& c) {
  c.ignore({"chunk_size", "left_chunk", "activation", "conv_activation", "conv_glu_type", "nemo_activation",
            "audio_token_id", "feature_layer", "dropout_rate"});
  MediaEncoder t = conformer(c, hf_conformer);
  t.width = mul(t.width, c.size("downsample_rate", 1));
  return t;
}

/// Phi4MultimodalAudioEmbedding: separate matrices for sound with and without an image.
Count phi4_audio_projector(const Joint& j) { return mul(2, two_matrices(j.width, j.hidden).total()); }

/// Parameters of the adapters on all matrices of every layer: fused queries, keys and values; output; fused gate and
/// up; down. Each has (in + out) elements per rank.
Count phi4mm_adapters(const Config& whole, std::string_view key) {
  if (!whole.has(key)) return 0;
  const Count h = whole.size("hidden_size", 3072), m = whole.size("intermediate_size", 8192);
  const Count n = whole.size("num_attention_heads", 24), g = whole.size("num_key_value_heads", 8);
  const Count qkv = mul(add(n, mul(2, g)), h / n);
  const Count sides = add(add(add(h, qkv), mul(2, h)), add(add(h, mul(2, m)), add(m, h)));
  return mul(whole.object(key).size("r", 1), sides, whole.size("num_hidden_layers", 32));
}

/// CLIP ViT-L/14 for images of 336 pixels, which Phi-3's code names without stating its sizes.
MediaEncoder clip_l_336() {
  static const json::Value sizes = json::parse(
      R"({"hidden_size": 1024, "image_size": 336, "intermediate_size": 4096, "num_hidden_layers": 24,
          "patch_size": 14})",
      "CLIP ViT-L/14");
  return clip_media_encoders().front().count(Config(sizes, "CLIP ViT-L/14"));
}

/// Whether the encoder is CLIP ViT-L/14 with separator rows, followed by an MLP that projects rows of four patches.
bool is_phi3v_media_encoder(const Config& whole) {
  if (!whole.has("img_processor") || !whole.has("embd_layer")) return false;
  const Config media_encoder = whole.object("img_processor"), rows = whole.object("embd_layer");
  return media_encoder.text("model_name", "") == "openai/clip-vit-large-patch14-336" &&
         rows.text("projection_cls", "") == "mlp" && rows.flag("use_hd_transform", false) &&
         rows.flag("with_learnable_separator", false);
}

constexpr std::string_view clip_l = "clip-l-14-224", sam_b = "sam_vit_b";

/// SAM's image encoder (github.com/facebookresearch/segment-anything, image_encoder.py), for images of 1024 pixels:
/// an embedding of 16 x 16 patches with bias; a position embedding h per patch; vit_blocks with relative positions
/// along both axes (2 tables of 2 s - 1 rows as wide as a head, s = 14 in windows and 64 in global layers); a neck to
/// 256 channels with two convolutions without biases and two LayerNorms; two further convolutions of 9 taps, without
/// biases.
Count sam_encoder(const Config& s, Count image) {
  const Count h = s.size("width", 768), layers = s.size("layers", 12), heads = s.size("heads", 12), along = image / 16;
  const std::vector<Count> channels = s.counts("downsample_channels");
  if (channels.size() != 2 || h % heads != 0)
    s.refuse("expected two channel counts in \"downsample_channels\", and a \"width\" that is a multiple of \"heads\"");
  const auto global = static_cast<Count>(s.counts("global_attn_indexes").size());
  if (global > layers) s.refuse("\"global_attn_indexes\" lists more layers than the encoder has");
  const auto distances = [&](Count side) { return ModuleTally().table(2 * (2 * side - 1), h / heads); };
  return ModuleTally()
      .linear(3 * 16 * 16, h)
      .table(mul(along, along), h)
      .copies(layers, vit_block(h, mul(4, h)))
      .copies(layers - global, distances(14))
      .copies(global, distances(along))
      .linear(h, 256, false)
      .linear(256 * 9, 256, false)
      .layer_norms(2, 256)
      .linear(256 * 9, channels[0], false)
      .linear(mul(channels[0], 9), channels[1], false)
      .total();
}

/// CLIP-L in DeepSeek-OCR: class embedding, patch embedding (h, 3, p, p) without bias, position embeddings, a
/// LayerNorm before the vit_blocks, and no final LayerNorm.
Count clip_encoder(const Config& s) {
  const Count h = s.size("width", 1024), p = s.size("patch_size", 14);
  return ModuleTally()
      .numbers(h)
      .linear(mul(3, p, p), h, false)
      .table(add(patches(s, 224, 14), 1), h)
      .layer_norms(1, h)
      .copies(s.size("layers", 24), vit_block(h, mul(4, h)))
      .total();
}

/// hub deepseek-ai/DeepSeek-OCR, deepencoder.py and modeling_deepseekocr.py: CLIP's layers read the rows of SAM's
/// encoder. Output rows are the concatenated results of both.
MediaEncoder deepencoder(const Config& v) {
  const Config sizes = v.object("width");
  for (const std::string_view part : {clip_l, sam_b})
    if (!sizes.has(part)) sizes.refuse(fmt::format("\"{}\" is missing", part));
  const Config clip = sizes.object(clip_l), sam = sizes.object(sam_b);
  clip.ignore({"heads"});
  v.ignore({"model_name", "mlp_ratio"});
  return {add(sam_encoder(sam, v.size("image_size", 1024)), clip_encoder(clip)),
          add(sam.counts("downsample_channels")[1], clip.size("width", 1024))};
}

/// A matrix with bias, and two rows of the text model's width: one ends the lines of an image, the other separates
/// its parts.
Count deepseek_ocr(const Joint& j) {
  const Config p = j.whole.has("projector_config") ? j.whole.object("projector_config") : j.whole;
  if (p.text("projector_type", "linear") != "linear")
    p.refuse("\"projector_type\": only \"linear\" is supported; omit vision_config to count only the text part");
  return ModuleTally().linear(j.width, j.hidden).table(2, j.hidden).total();
}

}  // namespace

std::vector<MediaEncoderFamily> hub_media_encoders() {
  return {{"phi4_multimodal_vision", phi4_vision}, {"deeplip_b_l", deepencoder}};
}
std::vector<Composite> hub_composites() {
  return {{"phi4_multimodal", "phi4_multimodal_vision", true, phi4_vision_projector},
          {"deepseek_vl_v2", "", false, deepseek_ocr}};
}
std::vector<MediaEncoderFamily> hub_audio_media_encoders() { return {{"phi4_multimodal_audio", phi4_audio}}; }
std::vector<Composite> hub_audio_composites() {
  return {{"phi4_multimodal", "phi4_multimodal_audio", true, phi4_audio_projector}};
}

void count_phi3v(const Config& whole, Count hidden, CountedMediaEncoders& out) {
  if (!is_phi3v_media_encoder(whole)) return;
  const MediaEncoder clip = clip_l_336();
  const Count four = mul(4, clip.width);
  out.media_encoders.vision = clip.parameters;
  out.media_encoders.projector = two_matrices(four, hidden).numbers(mul(2, four)).total();
}

void count_phi4mm(const Config& whole, Count hidden, CountedMediaEncoders& out) {
  const bool hears = whole.has("audio_processor") && whole.object("audio_processor").has("config");
  if (!hears || whole.has("img_processor")) return;
  const Config audio = whole.object("audio_processor").object("config");
  constexpr Count h = 1152;  // SigLIP so400m at 448 pixels, as named in the code
  out.media_encoders.vision = phi4_sight(3, h, 4304, 27, 448, 14).total();
  const MediaEncoder conformed = conformer(audio, hub_conformer);
  out.media_encoders.audio = conformed.parameters;
  const Count adapters = add(phi4mm_adapters(whole, "vision_lora"), phi4mm_adapters(whole, "speech_lora"));
  const Count matrices =
      add(two_matrices(h, hidden).numbers(2 * h).total(), mul(2, two_matrices(conformed.width, hidden).total()));
  out.media_encoders.projector = add(matrices, adapters);
  if (adapters > 0)
    out.caveats.push_back(
        fmt::format("the projector includes the text model's adapters for images and audio (vision_lora, speech_lora), "
                    "which have {} parameters",
                    adapters));
}

}  // namespace llmcalc::import
