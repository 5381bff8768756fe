#pragma once
/// A plan's memory by the terms on which a log's is booked.

#include <string>
#include <string_view>
#include <vector>

#include "ask/request/request.hpp"
#include "evidence/logs/memory_booking.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {

/// A part of what is predicted for a term.
struct PredictedShare {
  MemoryTerm of{};
  std::string_view key, label;  ///< in JSON and in text: "kv_cache", "KV cache"
  Bytes bytes{};                ///< below 0 for what is not alive at the same time
};

/// What a server's log says that it allows itself; else --prompt as the tokens of a pass; else its version's defaults.
EngineLimits server_limits(const Request& r, const VllmStart& s);

/// Bytes by which the server pads experts' weights, which are among those that are predicted.
Bytes server_padding(const Request& r, const VllmStart& s);

/// Predictions for the terms of a log. A server has weights, a cache of the log's tokens, activations; a process that
/// trains or generates has everything that its tensors consist of at the peak, all of it in what is allocated. Terms
/// that the booking joins are joined.
std::vector<PredictedShare> predicted_memory(const Request& r, const MemoryLog& log, const MemoryBooking& booking);

/// The sum for a term; absent where nothing is predicted for it.
std::optional<Bytes> predicted_for(const std::vector<PredictedShare>& all, MemoryTerm term);

}  // namespace llmcalc
