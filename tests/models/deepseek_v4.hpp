#pragma once
/// Small models of DeepSeek-V4's parts: several residual streams, compressed attention.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// Several residual streams (hyper-connections).
std::vector<Variant> residual_variants();
/// One layer of pooled keys that overlap, of which an indexer chooses one for every query, by what no rounding has
/// changed yet.
Arch tiny_pooled_choice();
/// Compressed attention in every layer, alone and between residual streams, and with a choice of pooled keys.
std::vector<Variant> compressed_variants();

}  // namespace llmcalc::test
