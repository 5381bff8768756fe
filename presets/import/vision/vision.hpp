#pragma once
/// Towers for images and sounds beside a text model, counted from the parts of a composite config. The files
/// vision_*.cpp hold the towers of one descent each and state the modules that their modelling code builds ("hf" is the
/// repository huggingface/transformers, src/transformers/models; "hub" the modelling code that a checkpoint carries).

#include <string>
#include <string_view>
#include <vector>

#include "presets/import/config.hpp"
#include "presets/import/vision/tally.hpp"
#include "presets/towers.hpp"

namespace llmcalc::import {

/// A tower's parameters, and the width of the rows that it gives.
struct Tower {
  Count parameters = 0, width = 0;
};

/// A tower by the model_type of its own config.
struct TowerFamily {
  std::string_view model_types;  ///< with a space between them
  Tower (*count)(const Config& tower);
};

/// What a projector is counted from.
struct Joint {
  const Config& whole;  ///< the composite config
  const Config& tower;  ///< the part that describes the tower
  Count width;          ///< of the tower's rows
  Count hidden;         ///< of the text model
};

/// A model that has a tower and text, by the model_type of the composite config.
struct Composite {
  std::string_view model_types;                ///< with a space between them
  std::string_view tower;                      ///< the tower's model_type where its config says none
  bool always;                                 ///< it is that one, whatever its config says
  Count (*projector)(const Joint&) = nullptr;  ///< null: within the tower, or none
  Count (*cross)(const Joint&) = nullptr;      ///< parts of the text model that read images alone; null: none
};

/// Each file's towers, and the models that have them.
std::vector<TowerFamily> qwen_towers();
std::vector<Composite> qwen_composites();
std::vector<TowerFamily> clip_towers();
std::vector<Composite> clip_composites();
std::vector<TowerFamily> kimi_towers();
std::vector<Composite> kimi_composites();
std::vector<TowerFamily> own_towers();
std::vector<Composite> own_composites();
std::vector<TowerFamily> mllama_towers();
std::vector<Composite> mllama_composites();
std::vector<TowerFamily> ernie_towers();
std::vector<Composite> ernie_composites();
std::vector<TowerFamily> omni_towers();
std::vector<Composite> omni_composites();
std::vector<Composite> omni_audio_composites();
std::vector<TowerFamily> hub_towers();
std::vector<Composite> hub_composites();
std::vector<TowerFamily> hub_audio_towers();
std::vector<Composite> hub_audio_composites();
std::vector<TowerFamily> audio_towers();
std::vector<Composite> audio_composites();

/// The towers beside a text model of that width, and what a reader must know of them.
struct CountedTowers {
  Towers towers;
  std::vector<std::string> caveats;
  std::vector<std::string> unknown_keys;  ///< of their configs: not understood
};
CountedTowers count_towers(const Config& whole, Count hidden);
/// The same of Phi-4 multimodal's own config ("phi4mm"), which has a part for sound alone; nothing where it has other
/// parts.
void count_phi4mm(const Config& whole, Count hidden, CountedTowers& out);

/// The same of Phi-3 vision's ("phi3_v", image_embedding_phi3_v.py).
void count_phi3v(const Config& whole, Count hidden, CountedTowers& out);

/// Indices of the layers of Llama 3.2's text model that read images alone.
std::vector<Count> image_layers(const Config& text);

/// Parameters of the experts that read images alone, and of their routers, in ERNIE 4.5 VL's text model.
Count image_experts(const Config& text, Count hidden);

/// Colours of a pixel: 3, unless the config says otherwise.
Count colours(const Config& tower);
/// A size that may be a list of two equal ones.
Count side(const Config& c, std::string_view key, Count otherwise);
/// Patches of a square image: (image_size / patch_size)^2, rounded down.
Count patches(const Config& tower, Count image_size, Count patch_size);

/// A block of a usual vision transformer, of width h with an MLP of width m, each with biases:
/// q, k, v, out 4 (h^2 + h); up h m + m, down m h + h; two LayerNorms 4 h.
ModuleTally vit_block(Count h, Count m);

}  // namespace llmcalc::import
