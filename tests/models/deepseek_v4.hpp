#pragma once
/// Small models with parts of DeepSeek-V4: several residual streams, compressed attention.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// Several residual streams (hyper-connections).
std::vector<Variant> residual_variants();
/// One layer with overlapping pooled keys. An indexer selects one per query, from inputs without rounding differences.
Arch tiny_pooled_choice();
/// Compressed attention in every layer: plain, with residual streams, and with pooled keys selected by an indexer.
std::vector<Variant> compressed_variants();

}  // namespace llmcalc::test
