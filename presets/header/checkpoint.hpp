#pragma once
/// A checkpoint as described by the headers of its files. Tensor data is not read.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/header/tensor_list.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct Checkpoint {
  std::string where;                 ///< path of the file or folder, as specified
  std::vector<std::string> files{};  ///< files that contain the tensors
  TensorList tensors{};
  Bytes file_bytes{};  ///< size of all files, including headers and padding
  json::Value keys{};  ///< keys of a GGUF file; null for safetensors
  std::vector<std::string> caveats{};

  bool is_gguf() const { return !keys.is_null(); }
  /// Bytes of all tensors.
  Bytes tensor_bytes() const;
};

/// Maximum number of tensors, four times as many as in the largest known checkpoint.
inline constexpr std::size_t max_tensors = std::size_t{1} << 21;

/// Whether a file begins like a weight file: with GGUF's magic number, or with the length and opening brace of a
/// safetensors header.
bool begins_as_checkpoint(std::string_view start);

/// Whether there is a checkpoint at `path`: a GGUF or safetensors file, an index of shards, or a folder with one of
/// these.
bool is_checkpoint(const std::string& path);

/// An index of shards in a folder that contains no safetensors file.
struct AbsentShards {
  std::string index;              ///< path of the index
  std::optional<Count> stated{};  ///< bytes of all tensors, as stated in the index
};
/// The index file at `path` or in the folder `path`, if all of its shards are missing.
std::optional<AbsentShards> absent_shards(const std::string& path);

/// The checkpoint at `path`: a GGUF file or any part of a split one; a safetensors file, any shard, or an index of
/// shards; or a folder with one of these. Throws InputError if it is damaged, incomplete or ambiguous.
Checkpoint read_checkpoint(const std::string& path);

}  // namespace llmcalc
