#pragma once
/// The part of a certain model that a checkpoint's tensor belongs to: its name's group, or beside the model where the
/// model has no such part.

#include <optional>

#include "calc/arch.hpp"
#include "calc/arch/layer_kinds.hpp"
#include "presets/header/tensor_group.hpp"

namespace llmcalc {

class ModelGroups {
 public:
  ModelGroups(const Checkpoint& c, const Arch& a);

  TensorGroup of(const CheckpointTensor& t) const;
  /// The layer that the tensor's name states: of a decoder behind an encoder, counted from the encoder's first.
  std::optional<Count> layer(const CheckpointTensor& t) const;

 private:
  /// Of a tensor that predicts further tokens: beside the model where that has no modules, or where it repeats a table.
  TensorGroup of_modules(const CheckpointTensor& t, TensorGroup g) const;
  std::optional<Component> router_part(std::string_view name) const;
  const Mixer* mixer(const CheckpointTensor& t) const;
  /// Why the model does not read the tensor, or nothing.
  std::optional<std::string_view> unread(const CheckpointTensor& t, const TensorGroup& g) const;

  const Arch& arch_;
  LayerKinds kinds_;
  Count encoder_layers_ = 0, predicting_;
  bool shared_table_ = false, own_bias_ = false;  ///< T5's "shared.weight"; a masked head's bias under its own name
};

}  // namespace llmcalc
