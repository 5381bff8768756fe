#pragma once
/// Work that plain decoding has no part of, as a row of inference tells it by its engine, its notes and its keys:
/// drafts and modules for further tokens, prefill on devices of its own, weights or caches on the host, prompts that
/// the cache holds already, adapters.

#include <string>

#include "evidence/inference_row.hpp"

namespace llmcalc {

/// Why more or less ran than plain decoding, in words; empty: the row tells of nothing like that.
std::string beyond_decoding(const InferenceRow& row);

}  // namespace llmcalc
