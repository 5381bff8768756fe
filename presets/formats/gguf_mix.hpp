#pragma once
/// The mixes of llama-quantize: which type each tensor of a GGUF file gets under one file type
/// (github.com/ggml-org/llama.cpp, src/llama-quant.cpp @007dbbf3), without an importance matrix.

#include <string_view>
#include <vector>

#include "calc/arch.hpp"
#include "calc/formats/weight_formats.hpp"

namespace llmcalc {

/// A tensor of a model in GGUF, without its name: its kind and place, and its type under a mix.
struct MixedTensor {
  Component component;
  Owner owner = Owner::model;
  Count layer = 0;                          ///< modules (Mtp) come behind the model's layers
  Count groups = 1, rows = 0, columns = 0;  ///< an expert's matrix, and the number of experts
  DType format;
};

/// The names of the mixes, in lower case: "q4_k_m".
std::vector<std::string_view> gguf_mixes();
bool is_gguf_mix(std::string_view name);

/// Every tensor of the model under the mix, by layer. `family`: the model_type of its config, which says what its files
/// fuse; empty: nothing, by the rules for most models. Vectors (norms, biases, sinks), routers, position tables and
/// what is small in 2 dimensions are in float32; small matrices that are kept as they were stored
/// (per_layer_model_proj, AltUp's, LAuReL's and RWKV's low ranks) in 16 bits, as llama.cpp's conversion writes them.
/// Modules for further tokens are there where every conversion of the family has kept them.
std::vector<MixedTensor> mixed_tensors(const Arch& arch, std::string_view mix, std::string_view family);

/// The formats and bytes of the components under the mix: all tensors of mixed_tensors(), exactly, and the routers'
/// correction biases, which are no parameters. Left out: rotary factors, which some models' files hold besides, and
/// keys and values of layers that read an earlier layer's, which files of Gemma 3n hold although nothing uses them.
WeightFormats gguf_mix(const Arch& arch, std::string_view mix, std::string_view family);

/// The type that queries, keys and values of a family that fuses them had in files of the mix until 2025; an empty text
/// where it is today's.
std::string_view older_fused_type(const Arch& arch, std::string_view mix, std::string_view family);

}  // namespace llmcalc
