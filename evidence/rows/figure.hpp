#pragma once
/// The keys under which inference was measured, and what each of them is.

#include <cstdint>
#include <span>
#include <string_view>

namespace llmcalc {

/// What a figure of inference is, in base units.
enum class FigureKind : std::uint8_t {
  time_per_token,     ///< seconds per generated token of a sequence
  decode_step,        ///< seconds of one step of all sequences
  decode_time,        ///< seconds of all of a generation's steps, prompts excluded
  first_token,        ///< seconds from a request to its first token
  prefill_time,       ///< seconds of the prompts' pass
  whole_time,         ///< seconds of a whole static batch or request
  output_rate,        ///< generated tokens per second over the whole time, prompts included in it
  decode_rate,        ///< generated tokens per second of all sequences in decoding alone
  decode_rate_first,  ///< the same over the first 128 tokens, from an empty cache
  decode_rate_last,   ///< the same over the last 128 tokens
  prefill_rate,       ///< prompt tokens per second
  total_rate,         ///< prompt and generated tokens per second over the whole time
  peak_output_rate,   ///< generated tokens per second in the best second
  user_rate,          ///< generated tokens per second of one sequence: a time per token in other words
  cache_tokens,       ///< tokens of key and value cache on all devices
  memory,             ///< bytes in use on one device, or on all where pipelined
  weight_memory,      ///< bytes of weights on one device
  cache_memory,       ///< bytes that are left for the cache on one device
  key_cache,          ///< the keys' part of them
  value_cache,        ///< the values' part of them
  context_cache,      ///< bytes of the cache of the stated context, on all devices
  activation_memory,  ///< bytes of activations at start-up on one device
  library_memory,     ///< bytes on one device that are not the framework's tensors
  graph_memory,       ///< bytes of recorded graphs on one device
  layer_time,         ///< seconds of one layer
  bandwidth,          ///< bytes of weights read per second: a rate of decoding in other words
  utilization         ///< FLOP/s over the peak: a time in other words
};

/// Over which devices a rate is counted.
enum class Share : std::uint8_t { all, device, node };

/// Which number of many a time is: of requests, or of the gaps between two tokens.
enum class Statistic : std::uint8_t { mean, median, p90, p95, p99, least, gap_median, gap_p99 };

struct FigureKey {
  std::string_view key;
  FigureKind quantity;
  double unit;  ///< the key's unit in base units: 1e-3 for milliseconds
  Share share = Share::all;
  bool may_be_negative = false;  ///< what is left over can be less than nothing
  Statistic statistic = Statistic::mean;
};

/// All keys that are known, those first that say the same as others more directly.
std::span<const FigureKey> figure_keys();
/// Null for an unknown key.
const FigureKey* figure_key(std::string_view key);

}  // namespace llmcalc
