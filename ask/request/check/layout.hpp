#pragma once
/// Checks whether a model can be laid out over ranks as requested. Each function throws InputError with the nearest
/// change that works.

#include "ask/request/request.hpp"

namespace llmcalc {

/// Throws because the tensor-parallel ranks do not divide the heads.
[[noreturn]] void refuse_heads(const Request& r);
/// Ranks must divide the heads, experts and tokens of a sequence.
void check_layout(const Request& r);
/// A training schedule must have the ranks, chunks, micro-batches and layers that it requires.
void check_pipeline(const Request& r);
/// The ranks that shard states must be a subset of the ranks that hold the same weights.
void check_sharding(const Request& r);
/// Each stage of a server must have at least one layer.
void check_served_stages(const Request& r);

}  // namespace llmcalc
