#pragma once
/// Assigns a checkpoint's tensors to the parts of a model. A tensor belongs to the group implied by its name, or is
/// outside the model if the model has no such part.

#include <optional>

#include "calc/arch.hpp"
#include "calc/arch/layer_kinds.hpp"
#include "presets/header/tensor_group.hpp"

namespace llmcalc {

class ModelGroups {
 public:
  ModelGroups(const Checkpoint& c, const Arch& a);

  TensorGroup of(const CheckpointTensor& t) const;
  /// Layer index in the tensor's name. In a decoder that follows an encoder, layers are counted from the encoder's
  /// first layer.
  std::optional<Count> layer(const CheckpointTensor& t) const;

 private:
  /// Group of an MTP module's tensor. It is outside the model if the model has no modules or if the tensor is a copy
  /// of a table.
  TensorGroup of_modules(const CheckpointTensor& t, TensorGroup g) const;
  std::optional<Component> router_part(std::string_view name) const;
  const Mixer* mixer(const CheckpointTensor& t) const;
  /// Reason that the model does not read the tensor; absent if it does.
  std::optional<std::string_view> unread(const CheckpointTensor& t, const TensorGroup& g) const;

  const Arch& arch_;
  LayerKinds kinds_;
  Count encoder_layers_ = 0, predicting_;
  bool shared_table_ = false, own_bias_ = false;  ///< whether there are T5's "shared.weight" and an MLM head's
                                                  ///< separate bias
};

}  // namespace llmcalc
