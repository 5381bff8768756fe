#pragma once
/// Nearest valid values to a rejected number: the smallest changes that an error message suggests.

#include <string>
#include <string_view>

#include "ask/request/request.hpp"
#include "calc/pipeline/schedule.hpp"

namespace llmcalc {

/// The nearest multiples of `unit` below and above `n`, except 0, each with the option: "--gpus 8 or --gpus 16".
std::string nearest_multiples(std::string_view option, Count n, Count unit);

/// The multiples of `unit` nearest to the sequence length, up to the model's learned positions; empty if no multiple
/// fits.
std::string nearest_lengths(const Request& r, Count unit);

/// Options for working layouts with an even number of ranks, the next above or the next below, each tried, with a new
/// global batch if needed: "--pp 34 --global-batch 68".
std::string even_ranks(const Request& r, const Pipeline& p);
/// The number of chunks that a schedule requires, or 1F1B instead.
std::string chunks_of_schedule(const Request& r, Count chunks);
/// Fewer chunks or fewer ranks, for at most as many chunks as layers.
std::string fewer_chunks(const Request& r, const Pipeline& p);

/// The given layers per stage, changed from the last stage backward until they sum to the model's layer count.
std::string stage_layers_that_add_up(const Request& r);

/// A change that makes the expert ranks divide the other ranks: fewer ranks per expert, else fewer expert ranks, else
/// more data-parallel ranks.
std::string fewer_expert_ranks(const Request& r);
/// "give --hsdp 8": the smallest larger replica that the expert ranks divide; else fewer_expert_ranks().
std::string wider_copy(const Request& r);

/// A fix for a group that no link joins: as many GPUs or replicas as the widest link joins, else fewer of its ranks.
std::string fewer_joined(const Request& r, std::string_view option);

}  // namespace llmcalc
