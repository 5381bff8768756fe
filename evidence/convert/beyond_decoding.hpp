#pragma once
/// Work that plain decoding has no part of, as a row of inference tells it by its engine, its notes and its keys:
/// drafts and modules for further tokens, prefill on devices of its own, weights or caches on the host, prompts that
/// the cache holds already, adapters; and as a recorded run tells it by its engine's options.

#include <string>

#include "evidence/convert/inference_row.hpp"
#include "evidence/convert/row_object.hpp"

namespace llmcalc {

/// Why more or less ran than plain decoding, in words; empty: the row tells of nothing like that.
std::string beyond_decoding(const InferenceRow& row);
/// The same of an engine's options ("speculative_config", "cpu_offload_gb"), and of what its unknown keys say. The keys
/// that are left over count as unknown: nothing else of `engine` is to be read behind it.
std::string beyond_decoding(const RowObject& engine);

}  // namespace llmcalc
