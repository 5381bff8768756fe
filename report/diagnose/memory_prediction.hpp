#pragma once
/// A plan's predicted memory, by the terms of a memory log.

#include <string>
#include <string_view>
#include <vector>

#include "ask/request/request.hpp"
#include "evidence/logs/memory_booking.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {

/// One predicted component of a memory term.
struct PredictedShare {
  MemoryTerm of{};
  std::string_view key, label;  ///< names in JSON and in text: "kv_cache", "KV cache"
  Bytes bytes{};                ///< negative for the correction for tensors that are not live at the same time
};

/// Whether some layer's cache does not grow with the sequence.
bool has_bounded_cache(const Request& r);
/// Limits from a server's log. Where the log states none: --prompt as the number of tokens per pass, otherwise the
/// defaults of the engine's version.
EngineLimits server_limits(const Request& r, const ServerStart& s);

/// Bytes by which the server pads expert weights; included in the prediction.
Bytes server_padding(const Request& r, const ServerStart& s);

/// Predictions for the terms of a log. For a server: weights, a cache for the logged tokens, and activations. For a
/// process that trains or generates: all tensors live at the peak, all in the allocated term. If `booking` combines
/// terms, assigns the parts to the combined term.
std::vector<PredictedShare> predicted_memory(const Request& r, const MemoryLog& log, const MemoryBooking& booking);

/// Predicted bytes of a term; absent without a prediction.
std::optional<Bytes> predicted_for(const std::vector<PredictedShare>& all, MemoryTerm term);

}  // namespace llmcalc
