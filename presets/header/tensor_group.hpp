#pragma once
/// Assigns a checkpoint's tensor to a part of a model, based only on the tensor's name.

#include <optional>
#include <string>
#include <string_view>

#include "calc/formats/weight_formats.hpp"
#include "calc/units.hpp"
#include "presets/header/checkpoint.hpp"

namespace llmcalc {

struct TensorGroup {
  std::optional<Component> component;     ///< absent: the tensor is outside the text model, or its name is unknown
  std::optional<Component> of_modules{};  ///< component of an MTP tensor in its module
  std::string_view name;  ///< name of a component, or "vision and audio", "MTP modules", "buffers" or "not recognized"
  bool parameter = true;  ///< false for rotary factors, a router's correction bias, and data of a quantized matrix
                          ///< other than its values
  bool packed = false;    ///< whether elements pack several values, so the shape does not determine the parameter count
};

inline constexpr std::string_view unknown_group = "not recognized", media_encoders_group = "vision and audio",
                                  prediction_group = "MTP modules";

/// Group of a tensor by its name in checkpoints of Hugging Face and other sources, or in GGUF. Layers with indices of
/// at least `layers` are MTP modules, unless `layers` is 0.
TensorGroup tensor_group(std::string_view tensor, Count layers);

/// Index of the first MTP layer, recognized by the projection that combines two hidden states (DeepSeek-V3,
/// arXiv:2412.19437, 2.2); 0 if there is no such layer.
Count first_predicting_layer(const Checkpoint& c);

/// Layer index in a tensor's name: 3 in "model.layers.3.mlp.up_proj.weight" and in "blk.3.ffn_up.weight".
std::optional<Count> layer_index(std::string_view tensor);

}  // namespace llmcalc
