#pragma once
/// What lies nearest to a number that cannot be: the smallest changes that a refusal names.

#include <string>
#include <string_view>

#include "ask/request/request.hpp"
#include "calc/pipeline/schedule.hpp"

namespace llmcalc {

/// The multiples of `unit` next below and above `n`, 0 left out, each with the option: "--gpus 8 or --gpus 16".
std::string nearest_multiples(std::string_view option, Count n, Count unit);

/// The same of a sequence's length, no longer than the model's learned positions; empty: there is none.
std::string nearest_lengths(const Request& r, Count unit);

/// Layouts that run, with the global batch that they need besides, each tried: "--pp 34 --global-batch 68".
/// An even number of ranks: the next above, or the next below that works.
std::string even_ranks(const Request& r, const Pipeline& p);
/// The chunks that a schedule has, else 1F1B's.
std::string chunks_of_schedule(const Request& r, Count chunks);
/// No more chunks of layers than layers: fewer chunks or fewer ranks.
std::string fewer_chunks(const Request& r, const Pipeline& p);

/// The stated layers of stages, changed from the last stage on until they add up to the model's.
std::string stage_layers_that_add_up(const Request& r);

/// What gives experts ranks that divide those of all else: fewer ranks of an expert, else of experts, else more
/// data-parallel ranks.
std::string fewer_expert_ranks(const Request& r);
/// "give --hsdp 8": the smallest larger copy over which experts divide; else fewer_expert_ranks().
std::string wider_copy(const Request& r);

/// What a group needs that no link joins: as many GPUs or replicas as the widest link joins, else fewer of its ranks.
std::string fewer_joined(const Request& r, std::string_view option);

}  // namespace llmcalc
