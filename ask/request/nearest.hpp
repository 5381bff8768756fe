#pragma once
/// Valid values nearest to a rejected number, for suggestions in error messages.

#include <string>
#include <string_view>

#include "ask/request/request.hpp"
#include "calc/pipeline/schedule.hpp"

namespace llmcalc {

/// The nearest multiples of `unit` below and above `n`, except 0, each preceded by the option: "--gpus 8 or --gpus
/// 16".
std::string nearest_multiples(std::string_view option, Count n, Count unit);

/// The multiples of `unit` nearest to the sequence length, up to the model's learned positions; empty if no multiple
/// fits.
std::string nearest_lengths(const Request& r, Count unit);

/// Options for a working layout with an even number of ranks: the next larger one, else the next smaller one, with a
/// new global batch if needed: "--pp 34 --global-batch 68".
std::string even_ranks(const Request& r, const Pipeline& p);
/// Options that set the number of chunks required by the schedule, or else switch to 1F1B.
std::string chunks_of_schedule(const Request& r, Count chunks);
/// Options with fewer chunks or fewer ranks, so that every chunk has at least one layer.
std::string fewer_chunks(const Request& r, const Pipeline& p);

/// The layers per stage as specified, changed from the last stage backward until they sum to the model's layer count.
std::string stage_layers_that_add_up(const Request& r);

/// A change that makes the number of expert-parallel ranks divide the number of other ranks: fewer ranks per expert,
/// else fewer expert-parallel ranks, else more data-parallel ranks.
std::string fewer_expert_ranks(const Request& r);
/// A larger sharding group: "set --hsdp 8", the next larger size that the number of expert-parallel ranks divides;
/// else fewer_expert_ranks().
std::string wider_copy(const Request& r);

/// A fix for a group of ranks that no link connects: the number of GPUs or replicas that the widest link connects,
/// else fewer ranks in the group.
std::string fewer_joined(const Request& r, std::string_view option);

}  // namespace llmcalc
