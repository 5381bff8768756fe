#pragma once
/// Readers of the quantization methods. Each throws InputError for an unknown setting.

#include "presets/import/quantization/scheme.hpp"

namespace llmcalc::import {

Scheme gptq(const json::Object& q, const SchemeContext& context);
Scheme auto_round(const json::Object& q, const SchemeContext& context);
Scheme awq(const json::Object& q, const SchemeContext& context);
Scheme float8(const json::Object& q, const SchemeContext& context);
Scheme fbgemm(const json::Object& q, const SchemeContext& context);
Scheme mxfp4_experts(const json::Object& q, const SchemeContext& context);
Scheme bitnet(const json::Object& q, const SchemeContext& context);
Scheme bitsandbytes(const json::Object& q, const SchemeContext& context);
Scheme compressed_tensors(const json::Object& q, const SchemeContext& context);
Scheme modelopt(const json::Object& q, const SchemeContext& context);
/// Adds a group for each algorithm in ModelOpt's "quantized_layers".
void add_modelopt_layers(Scheme& s, const json::Object& layers);
Scheme mlx(const json::Object& q, const SchemeContext& context);
Scheme hqq(const json::Object& q, const SchemeContext& context);
Scheme exllama(const json::Object& q, const SchemeContext& context);
Scheme torchao(const json::Object& q, const SchemeContext& context);
Scheme quark(const json::Object& q, const SchemeContext& context);

}  // namespace llmcalc::import
