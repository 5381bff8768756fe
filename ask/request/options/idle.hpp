#pragma once
/// Functions that return why an option has no effect on a request (the last member of an option's row). Each returns an
/// empty string if the option has an effect, otherwise the rest of a sentence that begins with the option's name.

#include <string_view>

#include "ask/request/request.hpp"

namespace llmcalc::idle {

std::string_view latent_attention(const Request& r);     ///< --mla
std::string_view latent_cache_row(const Request& r);     ///< --kv-precision
std::string_view media_encoders(const Request& r);       ///< --no-towers
std::string_view mtp_modules(const Request& r);          ///< --mtp
std::string_view gated_mlp(const Request& r);            ///< --glu-store
std::string_view latent_recompute(const Request& r);     ///< --recompute
std::string_view newton_schulz(const Request& r);        ///< --ns-steps
std::string_view optimizer_flops(const Request& r);      ///< --optimizer
std::string_view pipeline_of_one(const Request& r);      ///< --schedule, --chunks, --stage-layers
std::string_view expert_tensor_ranks(const Request& r);  ///< --etp
std::string_view expert_ranks(const Request& r);         ///< --ep
std::string_view expert_nodes(const Request& r);         ///< --expert-nodes
std::string_view dispatcher(const Request& r);           ///< --dispatcher
std::string_view expert_load(const Request& r);          ///< --expert-load
std::string_view stored_scores(const Request& r);        ///< --softmax-store

}  // namespace llmcalc::idle
