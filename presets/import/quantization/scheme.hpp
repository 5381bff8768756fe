#pragma once
/// A checkpoint's quantization block: the formats of its matrices.

#include <optional>
#include <string>
#include <vector>

#include "presets/import/quantization/modules.hpp"
#include "presets/import/quantization/packing.hpp"
#include "text/json.hpp"

namespace llmcalc::import {

struct Scheme {
  struct Group {
    std::optional<Packing> packing{};  ///< packing of the group; absent: it stays in the config's dtype
    Modules targets{};                 ///< modules in the group; empty: all matrices
    std::optional<DType> products{};   ///< format of both operands if inputs are also quantized; absent: 16 bits
    std::string said{};                ///< targets as written in the block, for the caveat if they match no matrix
  };
  std::vector<Group> groups{};         ///< a matrix belongs to the first group whose targets match it
  Modules kept{};                      ///< modules that stay in the config's dtype, regardless of groups
  bool head_as_other = false;          ///< whether the head is packed like other matrices unless the block excludes it
  bool table_as_other = false;         ///< whether the token embedding is packed like other matrices
  bool routers_as_others = false;      ///< whether routers are packed like other matrices
  Count cache_bits = 0;                ///< bits of a KV cache for which the checkpoint contains scales; 0: no scales
  std::vector<std::string> caveats{};  ///< properties that the block does not specify
  std::vector<std::string> unread{};   ///< unread keys whose values may matter
  NamedModules named{};                ///< names of the groups that have only names
  std::vector<std::size_t> others{};   ///< indices of the groups that are not in `named`
};

/// Inputs for reading a block, in addition to its keys.
struct SchemeContext {
  std::string model_type;    ///< determines the size of fp8 block scales: bf16 in Qwen3.5, one byte in DeepSeek-V4
  std::string dtype;         ///< dtype of unquantized tensors, as named by PyTorch
  bool fp4_experts = false;  ///< whether "expert_dtype" is "fp4" (DeepSeek-V4)
};

/// Reads a quantization block. Throws InputError for an unknown method or setting.
Scheme scheme(const json::Object& q, const SchemeContext& context);

/// Group of a matrix; null if it stays in the config's dtype.
const Scheme::Group* group_of(const Scheme& s, const Matrix& m);

/// Packing of a matrix; absent if it is in the config's dtype.
std::optional<Packing> packing_of(const Scheme& s, const Matrix& m);

}  // namespace llmcalc::import
