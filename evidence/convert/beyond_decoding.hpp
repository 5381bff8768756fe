#pragma once
/// Work beyond plain decoding, in an inference row's engine, notes and keys: drafts and MTP modules, prefill on
/// separate devices, weights or caches in host memory, prompts already in the cache, adapters. For a recorded run, in
/// its engine's options.

#include <string>

#include "evidence/convert/inference_row.hpp"
#include "evidence/convert/row_object.hpp"

namespace llmcalc {

/// Why the work differs from plain decoding, in words; empty if it does not.
std::string beyond_decoding(const InferenceRow& row);
/// The same for an engine's options ("speculative_config", "cpu_offload_gb") and the text of its unknown keys. All
/// unread keys count as unknown, so `engine` must not be read afterwards.
std::string beyond_decoding(const RowObject& engine);

}  // namespace llmcalc
