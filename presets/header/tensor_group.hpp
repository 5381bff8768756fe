#pragma once
/// The part of a model that a checkpoint's tensor belongs to, by its name.

#include <optional>
#include <string>
#include <string_view>

#include "calc/formats/weight_formats.hpp"
#include "calc/units.hpp"
#include "presets/header/checkpoint.hpp"

namespace llmcalc {

struct TensorGroup {
  std::optional<Component> component;     ///< none: the tensor is beside the text model, or its name is not known
  std::optional<Component> of_modules{};  ///< of a tensor that predicts further tokens: its component in the modules
  std::string_view name;  ///< the component's, "vision and audio", "MTP modules", "buffers" or "not recognised"
  bool parameter =
      true;  ///< false: rotary factors, a router's correction, what a quantised matrix stores besides its numbers
  bool packed = false;  ///< its numbers are packed, so that its shape does not count them
};

inline constexpr std::string_view unknown_group = "not recognised", towers_group = "vision and audio",
                                  prediction_group = "MTP modules";

/// The group of a tensor under the names of Hugging Face's and other checkpoints, or of GGUF. Layers from `layers` on,
/// if there are any, predict further tokens beside the model.
TensorGroup tensor_group(std::string_view tensor, Count layers);

/// The first layer that predicts further tokens: it joins two hidden states (DeepSeek-V3, arXiv:2412.19437, 2.2). 0:
/// there is none.
Count first_predicting_layer(const Checkpoint& c);

/// The index in a tensor's name: 3 of "model.layers.3.mlp.up_proj.weight" and of "blk.3.ffn_up.weight".
std::optional<Count> layer_index(std::string_view tensor);

}  // namespace llmcalc
