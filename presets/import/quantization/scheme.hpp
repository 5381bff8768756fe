#pragma once
/// A checkpoint's quantisation block: which matrices have which format.

#include <optional>
#include <string>
#include <vector>

#include "presets/import/quantization/modules.hpp"
#include "presets/import/quantization/packing.hpp"
#include "text/json.hpp"

namespace llmcalc::import {

struct Scheme {
  struct Group {
    std::optional<Packing> packing{};  ///< nothing: in the config's dtype
    Modules targets{};                 ///< empty: every matrix
    std::optional<DType> products{};   ///< of both operands, where inputs are quantised too; else 16 bits
    std::string said{};  ///< the targets as the block says them, where it must be told that they match none
  };
  std::vector<Group> groups{};         ///< a matrix is in the first whose targets match it
  Modules kept{};                      ///< in the config's dtype, whatever groups say
  bool head_as_other = false;          ///< the head is a matrix like others, kept only where the block says so
  bool table_as_other = false;         ///< so is the token table
  bool routers_as_others = false;      ///< so are routers
  Count cache_bits = 0;                ///< of a cache for which the checkpoint has scales; 0: it has none
  std::vector<std::string> caveats{};  ///< what the block leaves open
  std::vector<std::string> unread{};   ///< keys that nothing asked for and that say something
  NamedModules named{};                ///< groups of names alone, by their number
  std::vector<std::size_t> others{};   ///< the other groups
};

/// What a block depends on besides its own keys.
struct SchemeContext {
  std::string model_type;    ///< Qwen3.5 stores the scales of fp8 blocks in bf16, DeepSeek-V4 in a byte
  std::string dtype;         ///< of what is not quantised, as PyTorch calls it
  bool fp4_experts = false;  ///< "expert_dtype": "fp4" (DeepSeek-V4)
};

/// Reads the block. Throws InputError for a method or a setting that is not known.
Scheme scheme(const json::Object& q, const SchemeContext& context);

/// The group that a matrix is in; nothing: it is kept in the config's dtype.
const Scheme::Group* group_of(const Scheme& s, const Matrix& m);

/// How the block stores a matrix; nothing: in the config's dtype.
std::optional<Packing> packing_of(const Scheme& s, const Matrix& m);

}  // namespace llmcalc::import
