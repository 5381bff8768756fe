#pragma once
/// Small models of DeepSeek-V4's parts: several residual streams, compressed attention.

#include "tests/model/tiny.hpp"

namespace llmcalc::test {

/// Several residual streams (hyper-connections).
std::vector<Variant> residual_variants();
/// Compressed attention in every layer, alone and between residual streams.
std::vector<Variant> compressed_variants();

}  // namespace llmcalc::test
