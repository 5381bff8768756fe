#pragma once
/// Finds work beyond plain decoding in an inference row's engine, notes and keys: draft models and MTP modules, prefill
/// on separate devices, weights or caches in host memory, prompts already in the cache, adapters. For a recorded run,
/// searches its engine's options.

#include <string>

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/row_object.hpp"
#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

/// Clause that describes the row's work beyond plain decoding; empty if there is no such work.
std::string beyond_decoding(const InferenceRow& row);
/// Adds MTP modules that draft tokens if the row states only that they do, with an assumed number and acceptance.
void use_drafts(const InferenceRow& row, InferenceCase& c);
/// The same clause for the engine of a recorded run, from its options ("speculative_config", "cpu_offload_gb") and the
/// text of its unknown keys. All unread keys count as unknown, so `engine` must not be read afterward.
std::string beyond_decoding(const RowObject& engine);

}  // namespace llmcalc
