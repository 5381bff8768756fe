#pragma once
/// Splits a model name as typed (hub id or URL, Ollama tag, name of a GGUF file) into its parts.

#include <string>
#include <string_view>

namespace llmcalc {

struct TypedName {
  std::string owner{};  ///< owner of the repository: "Qwen"; empty: none
  std::string name{};   ///< name of the model: "Qwen3-30B-A3B-GGUF", "deepseek-r1"
  std::string tag{};    ///< text after a ':': "Q4_K_M", "70b-llama-distill-q8_0"; empty: none, or "latest"

  /// The name with its owner and tag: "Qwen/Qwen3-30B-A3B-GGUF", "deepseek-r1:70b".
  std::string whole() const;
};

/// Splits a name. Removes the hub from a URL ("https://huggingface.co/", "hf.co/", "ollama.com/library/", ...), the
/// path after the repository, the ending of a GGUF file and its shard number. Text that is not a name is returned
/// unchanged in `name`.
TypedName typed_name(std::string_view text);

}  // namespace llmcalc
