#pragma once
/// Whether a model can be laid out over ranks as a request says. Each throws InputError with the nearest change that
/// works.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws that the tensor-parallel ranks do not divide the heads.
[[noreturn]] void refuse_heads(const Request& r);
/// Heads, experts and tokens of a sequence are divided by their ranks.
void check_layout(const Request& r);
/// A training schedule has the ranks, chunks, micro-batches and layers that it needs.
void check_pipeline(const Request& r);
/// The ranks that share out states are a part of those that hold the same weights.
void check_sharding(const Request& r);
/// A server's stages have a layer each.
void check_served_stages(const Request& r);

}  // namespace llmcalc
