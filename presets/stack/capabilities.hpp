#pragma once
/// Capabilities of a software stack: the options that it supports.
///
/// "capabilities": { "parallelism": ["tp", "pp", "dp"], "schedules": ["1f1b"], ... }
///
/// A missing list is unknown and allows all values; an empty list allows no value.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/choice.hpp"
#include "text/json.hpp"

namespace llmcalc {

enum class Capability : std::uint8_t {
  devices,           ///< vendors: nvidia, amd, intel, gaudi, neuron, tpu, apple, ascend, cpu
  parallelism,       ///< tp, sp, cp, ep, etp, pp, dp, hsdp
  schedules,         ///< pipeline schedules, by their names in --schedule
  zero,              ///< ZeRO stages 1 to 3 (3: FSDP)
  zero_in_pipeline,  ///< ZeRO stages with more than one pipeline stage
  context,           ///< methods of context parallelism, by their names in --cp-method
  offload,           ///< activations, optimizer, weights; in inference: weights, experts, kv
  optimizers,        ///< names of optimizers in --optimizer
  adapters,          ///< in training: lora, qlora (on weights below 16 bits)
  drafts,            ///< speculative decoding: model, mtp
  serving            ///< prefix-cache, pools (disaggregation), adapters, swap
};
template <>
inline constexpr auto choices<Capability> = std::array{Choice{Capability::devices, "devices"},
                                                       Choice{Capability::parallelism, "parallelism"},
                                                       Choice{Capability::schedules, "schedules"},
                                                       Choice{Capability::zero, "zero"},
                                                       Choice{Capability::zero_in_pipeline, "zero_in_pipeline"},
                                                       Choice{Capability::context, "context"},
                                                       Choice{Capability::offload, "offload"},
                                                       Choice{Capability::optimizers, "optimizers"},
                                                       Choice{Capability::adapters, "adapters"},
                                                       Choice{Capability::drafts, "drafts"},
                                                       Choice{Capability::serving, "serving"}};

/// The values that a capability may list.
std::vector<std::string> capability_words(Capability c);
/// A value as text for users: "tensor parallelism", "ZeRO 3", "zb-v".
std::string capability_text(Capability c, std::string_view word);

class Capabilities {
 public:
  using Words = std::optional<std::vector<std::string>>;
  const Words& of(Capability c) const { return words_[static_cast<std::size_t>(c)]; }
  Words& of(Capability c) { return words_[static_cast<std::size_t>(c)]; }
  /// Whether the value is supported; true if the list is unknown.
  bool has(Capability c, std::string_view word) const;

 private:
  std::array<Words, choices<Capability>.size()> words_{};
};

/// Throws InputError for an unknown capability or value.
Capabilities read_capabilities(const json::Object& o);

}  // namespace llmcalc
