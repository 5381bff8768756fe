#pragma once
/// A checkpoint's quantisation block: which matrices have which format.

#include <optional>
#include <string>
#include <vector>

#include "presets/import/packing.hpp"
#include "text/json.hpp"

namespace llmcalc::import {

struct Scheme {
  struct Group {
    Packing packing;
    Modules targets{};  ///< empty: every matrix
  };
  std::vector<Group> groups;
  Modules kept{};                   ///< in the config's dtype
  bool head_as_other = false;       ///< the head is a matrix like others, kept only where the block says so
  std::optional<DType> products{};  ///< of both operands, where inputs are quantised too; else 16 bits
  bool scaled_cache = false;        ///< the checkpoint holds scales for an 8-bit cache
  std::string caveat{};             ///< what the block leaves open
};

/// What a block depends on besides its own keys.
struct SchemeContext {
  std::string model_type;    ///< Qwen3.5 stores the scales of fp8 blocks in bf16, DeepSeek-V4 in a byte
  std::string dtype;         ///< of what is not quantised, as PyTorch calls it
  bool fp4_experts = false;  ///< "expert_dtype": "fp4" (DeepSeek-V4)
};

/// Reads the block. Throws InputError for a method or a setting that is not known.
Scheme scheme(const json::Object& q, const SchemeContext& context);

/// How the block stores a matrix; nothing: in the config's dtype.
std::optional<Packing> packing_of(const Scheme& s, const Matrix& m);

}  // namespace llmcalc::import
