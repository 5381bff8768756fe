#pragma once
/// What lies nearest to a number that cannot be: the smallest changes that a refusal names.

#include <string>
#include <string_view>

#include "calc/pipeline/schedule.hpp"
#include "report/request.hpp"

namespace llmcalc {

/// The multiples of `unit` next below and above `n`, 0 left out, each with the option: "--gpus 8 or --gpus 16".
std::string nearest_multiples(std::string_view option, Count n, Count unit);

/// The same of a sequence's length, no longer than the model's learned positions; empty: there is none.
std::string nearest_lengths(const Request& r, Count unit);

/// What makes chunks of layers no more than the layers: fewer chunks, fewer ranks, or both, that --gpus allows.
std::string fewer_chunks(const Request& r, const Pipeline& p);

/// What gives experts ranks that divide those of all else: fewer ranks of an expert, else of experts, else more GPUs.
std::string fewer_expert_ranks(const Request& r);

/// What a group needs that no link joins: as many GPUs or replicas as the widest link joins, else fewer of its ranks.
std::string fewer_joined(const Request& r, std::string_view option);

}  // namespace llmcalc
