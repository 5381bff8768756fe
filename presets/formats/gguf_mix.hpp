#pragma once
/// The mixes of llama-quantize, which assign a type to each tensor of a GGUF file (github.com/ggml-org/llama.cpp,
/// src/llama-quant.cpp @007dbbf3), without an importance matrix.

#include <string_view>
#include <vector>

#include "calc/arch.hpp"
#include "calc/formats/weight_formats.hpp"

namespace llmcalc {

/// A tensor of a GGUF model without its name: kind, position, and type under a mix.
struct MixedTensor {
  Component component;
  Owner owner = Owner::model;
  Count layer = 0;                          ///< index of the layer; MTP modules follow the model's layers
  Count groups = 1, rows = 0, columns = 0;  ///< number of experts, and shape of one matrix
  DType format;
};

/// Names of the mixes in lower case, such as "q4_k_m".
std::vector<std::string_view> gguf_mixes();
bool is_gguf_mix(std::string_view name);

/// All tensors of the model under the mix, by layer. `family`: model_type of the config, which determines the fused
/// matrices. If it is empty, no matrices are fused and the rules for most models apply. Vectors (norms, biases,
/// sinks), routers, position tables and small 2-D tensors are in float32. Small matrices that are not quantized
/// (per_layer_model_proj, the low-rank matrices of AltUp, LAuReL and RWKV) are in 16 bits, as llama.cpp's conversion
/// writes them. MTP modules are included if every version of the family's conversion keeps them.
std::vector<MixedTensor> mixed_tensors(const Arch& arch, std::string_view mix, std::string_view family);

/// Formats and exact bytes of the components under the mix. Includes all tensors of mixed_tensors(), even router
/// correction biases, which are not parameters. Excludes rotary factors, which some models' files contain, and Gemma
/// 3n's unused key and value matrices in layers that read an earlier layer's keys and values.
WeightFormats gguf_mix(const Arch& arch, std::string_view mix, std::string_view family);

/// The type that llama-quantize assigned to a family's fused query, key and value matrix under this mix until 2025;
/// empty if it has not changed since.
std::string_view older_fused_type(const Arch& arch, std::string_view mix, std::string_view family);

}  // namespace llmcalc
