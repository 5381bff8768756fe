#pragma once
/// A checkpoint as its headers describe it. Nothing else of its files is read, whatever their size.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/formats/dtype.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct CheckpointTensor {
  std::string name;
  std::string format;          ///< as the file calls it: "BF16", "Q4_K"
  std::optional<DType> dtype;  ///< the number format; none for integers, which pack numbers or are no weights
  std::vector<Count> shape;    ///< the longest stride first: (out, in) of a matrix
  Count numbers = 0;           ///< the product of the shape
  Bytes bytes{};
};

struct Checkpoint {
  std::string where;                 ///< the file or folder that was named
  std::vector<std::string> files{};  ///< those that hold the tensors
  std::vector<CheckpointTensor> tensors{};
  Bytes file_bytes{};  ///< of all files: headers and padding among them
  json::Value keys{};  ///< what a GGUF file says besides its tensors; null for safetensors
  std::vector<std::string> caveats{};

  bool is_gguf() const { return !keys.is_null(); }
  /// Bytes of all tensors.
  Bytes tensor_bytes() const;
};

/// The most tensors that are read: four times those of the largest checkpoint known.
inline constexpr std::size_t max_tensors = std::size_t{1} << 21;

/// Whether a file begins as one of weights does: with GGUF's magic, or the length of a safetensors header before its
/// brace.
bool begins_as_checkpoint(std::string_view start);

/// Whether `path` leads to a checkpoint: a GGUF or safetensors file, an index of shards, or a folder that holds one.
bool is_checkpoint(const std::string& path);

/// An index of shards in a folder without a safetensors file.
struct AbsentShards {
  std::string index;              ///< its path
  std::optional<Count> stated{};  ///< bytes of all tensors, as it says them
};
/// The index that `path` is, or that the folder `path` holds, where none of its shards is there.
std::optional<AbsentShards> absent_shards(const std::string& path);

/// The checkpoint at `path`: a GGUF file or any part of a split one; a safetensors file, any of its shards, or their
/// index; a folder that holds one of these. Throws InputError for what is damaged, incomplete or ambiguous.
Checkpoint read_checkpoint(const std::string& path);

}  // namespace llmcalc
