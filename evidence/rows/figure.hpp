#pragma once
/// Keys of inference figures, and the quantity that each key measures.

#include <cstdint>
#include <span>
#include <string_view>

namespace llmcalc {

/// Quantity of an inference figure, in base units.
enum class FigureKind : std::uint8_t {
  time_per_token,     ///< seconds per generated token of a sequence
  decode_step,        ///< seconds of one decode step for all sequences
  decode_time,        ///< seconds of all decode steps of a generation, without prompts
  first_token,        ///< seconds from a request to its first token
  prefill_time,       ///< seconds of the prefill pass
  whole_time,         ///< seconds of a whole static batch or request
  output_rate,        ///< generated tokens per second of the whole run, prompts included
  decode_rate,        ///< generated tokens per second of all sequences, decoding only
  decode_rate_first,  ///< decode rate over the first 128 tokens, from an empty cache
  decode_rate_last,   ///< decode rate over the last 128 tokens
  prefill_rate,       ///< prompt tokens per second
  total_rate,         ///< prompt and generated tokens per second over the whole time
  peak_output_rate,   ///< generated tokens per second in the best second
  user_rate,          ///< generated tokens per second of one sequence: an inverse time per token
  cache_tokens,       ///< KV cache tokens on all devices
  memory,             ///< bytes in use on one device, summed over pipeline stages
  weight_memory,      ///< bytes of weights on one device
  cache_memory,       ///< bytes available for the cache on one device
  key_cache,          ///< bytes of keys in that cache
  value_cache,        ///< bytes of values in that cache
  context_cache,      ///< cache bytes of the stated context, on all devices
  activation_memory,  ///< bytes of activations at start-up on one device
  library_memory,     ///< bytes on one device outside the framework's tensors
  graph_memory,       ///< bytes of captured graphs on one device
  layer_time,         ///< seconds of one layer
  bandwidth,          ///< bytes of weights read per second, equivalent to a decode rate
  utilization,        ///< FLOP/s as a fraction of the peak, equivalent to a time
  power               ///< mean watts of all devices during the run
};

/// Devices over which a rate is stated.
enum class Share : std::uint8_t { all, device, node };

/// Statistic of a time, over requests or over gaps between tokens.
enum class Statistic : std::uint8_t { mean, median, p90, p95, p99, least, gap_median, gap_p99 };

struct FigureKey {
  std::string_view key;
  FigureKind quantity;
  double unit;  ///< size of the key's unit in base units: 1e-3 for milliseconds
  Share share = Share::all;
  bool may_be_negative = false;  ///< whether a value may be below 0: set for remainders of a budget
  Statistic statistic = Statistic::mean;
};

/// All known keys. Among keys for the same quantity, the most direct comes first.
std::span<const FigureKey> figure_keys();
/// Figure key by name; null for an unknown name.
const FigureKey* figure_key(std::string_view key);

}  // namespace llmcalc
