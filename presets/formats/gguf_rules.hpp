#pragma once
/// The rules by which llama-quantize chooses a tensor's type from its kind and position (github.com/ggml-org/llama.cpp,
/// src/llama-quant.cpp @007dbbf3, llama_tensor_get_type_impl), without an importance matrix.

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "presets/formats/gguf_mix.hpp"

namespace llmcalc {

/// Kind of a tensor, which the rules derive from its name.
enum class TensorKind : std::uint8_t {
  vector,  ///< a vector, or a small matrix that stays in float32
  stored,  ///< a small matrix that stays in 16 bits
  table,
  head,
  query,
  key,
  value,  ///< values, or queries, keys and values in one matrix
  attention_out,
  gate,
  up,
  down,
  part,  ///< queries, keys or values that fuse_parts() merges into one matrix
  other
};

/// Position of a tensor for a rule: a layer index or a running count, and the total.
struct TensorTurn {
  Count index = 0, of = 0;
  bool in_first(Count part) const { return index < of / part; }
  /// Whether the rule uses more bits: in the first and the last eighth, and in every third position in between
  /// (src/llama-quant.cpp, use_more_bits).
  bool more_bits() const { return in_first(8) || index >= 7 * of / 8 || (index - of / 8) % 3 == 2; }
};

/// Rules of one mix for one model; `family` as in mixed_tensors(). The mix must be one of gguf_mixes().
class GgufRules {
 public:
  GgufRules(const Arch& arch, std::string_view mix, std::string_view family);
  DType type(TensorKind kind, const TensorTurn& turn, const MixedTensor& tensor) const;
  /// Whether the position of an MLP matrix is its layer index; otherwise it is a running count of matrices of the same
  /// kind.
  bool counts_layers() const { return experts_ > 1 && !is_tiny(); }

 private:
  bool is(std::initializer_list<std::string_view> names) const;
  bool is_tiny() const { return is({"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m"}); }
  DType chosen(TensorKind kind, const TensorTurn& turn, const MixedTensor& tensor) const;
  DType head(const MixedTensor& tensor) const;
  DType table() const;
  DType tiny(TensorKind kind, const TensorTurn& turn) const;
  DType value(const TensorTurn& turn) const;
  DType dense_value(const TensorTurn& turn) const;
  DType query() const;
  DType down(const TensorTurn& turn) const;
  DType falcon_down(const TensorTurn& turn) const;
  DType attention_out() const;
  DType out_of_eight() const;

  std::string_view mix_;
  DType base_;
  bool tied_, falcon_;
  Count experts_;
  bool shared_keys_;  ///< whether the first layer has at least four query heads per key head
  bool seventy_;      ///< whether the model has 80 layers and grouped keys, like Llama 70B
};

}  // namespace llmcalc
