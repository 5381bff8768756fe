#pragma once
/// Encoders for images and sound, counted from the parts of a composite config. Each vision_*.cpp file contains related
/// encoders and lists the modules of their modeling code ("hf": repository huggingface/transformers,
/// src/transformers/models; "hub": modeling code in a checkpoint's repository).

#include <string>
#include <string_view>
#include <vector>

#include "presets/import/config.hpp"
#include "presets/import/vision/tally.hpp"
#include "presets/media_encoders.hpp"

namespace llmcalc::import {

/// An encoder's parameters, and the width of its output rows.
struct MediaEncoder {
  Count parameters = 0, width = 0;
};

/// An encoder family, identified by the model_type in its config.
struct MediaEncoderFamily {
  std::string_view model_types;  ///< model_types of the family, separated by spaces
  MediaEncoder (*count)(const Config& media_encoder);
};

/// Inputs for counting a projector.
struct Joint {
  const Config& whole;          ///< the composite config
  const Config& media_encoder;  ///< the part that describes the encoder
  Count width;                  ///< width of the encoder's rows
  Count hidden;                 ///< width of the text model
};

/// A model with an encoder and a text model, identified by the model_type of the composite config.
struct Composite {
  std::string_view model_types;    ///< model_types of the composite configs, separated by spaces
  std::string_view media_encoder;  ///< default for the model_type in the encoder's config
  bool always;  ///< whether to use `media_encoder` even if the encoder's config has a different model_type
  Count (*projector)(const Joint&) = nullptr;  ///< counts the projector; null: it is part of the encoder, or absent
  Count (*cross)(const Joint&) = nullptr;      ///< counts text-model parts that only read images; null: none
};

/// The encoders defined in each file, and the models with these encoders.
std::vector<MediaEncoderFamily> qwen_media_encoders();
std::vector<Composite> qwen_composites();
std::vector<MediaEncoderFamily> clip_media_encoders();
std::vector<Composite> clip_composites();
std::vector<MediaEncoderFamily> kimi_media_encoders();
std::vector<Composite> kimi_composites();
std::vector<MediaEncoderFamily> own_media_encoders();
std::vector<Composite> own_composites();
std::vector<MediaEncoderFamily> mllama_media_encoders();
std::vector<Composite> mllama_composites();
std::vector<MediaEncoderFamily> ernie_media_encoders();
std::vector<Composite> ernie_composites();
std::vector<MediaEncoderFamily> omni_media_encoders();
std::vector<Composite> omni_composites();
std::vector<Composite> omni_audio_composites();
std::vector<MediaEncoderFamily> hub_media_encoders();
std::vector<Composite> hub_composites();
std::vector<MediaEncoderFamily> hub_audio_media_encoders();
std::vector<Composite> hub_audio_composites();
std::vector<MediaEncoderFamily> audio_media_encoders();
std::vector<Composite> audio_composites();

/// The encoders of a model, with caveats about them. `hidden`: width of the text model.
struct CountedMediaEncoders {
  MediaEncoders media_encoders;
  std::vector<std::string> caveats;
  std::vector<std::string> unknown_keys;  ///< keys of the encoders' configs that are not understood
};
CountedMediaEncoders count_media_encoders(const Config& whole, Count hidden);
/// Counts the encoders of Phi-4 multimodal's original config ("phi4mm"), which describes only the audio encoder. No
/// effect on configs with other parts.
void count_phi4mm(const Config& whole, Count hidden, CountedMediaEncoders& out);

/// Counts the encoder of Phi-3 vision's config ("phi3_v", image_embedding_phi3_v.py).
void count_phi3v(const Config& whole, Count hidden, CountedMediaEncoders& out);

/// Indices of the layers of Llama 3.2's text model that only read images.
std::vector<Count> image_layers(const Config& text);

/// Parameters of the experts that only read images, and of their routers, in ERNIE 4.5 VL's text model.
Count image_experts(const Config& text, Count hidden);

/// Color channels of a pixel: 3, unless the config states otherwise.
Count colors(const Config& media_encoder);
/// A size that the config may state as a list of two equal values.
Count side(const Config& c, std::string_view key, Count otherwise);
/// Number of patches in a square image: (image_size / patch_size)^2, rounded down.
Count patches(const Config& media_encoder, Count image_size, Count patch_size);

/// A block of a standard vision transformer of width h with an MLP of width m; all matrices have biases: q, k, v, out
/// 4 (h^2 + h); up h m + m, down m h + h; two LayerNorms 4 h.
ModuleTally vit_block(Count h, Count m);

}  // namespace llmcalc::import
