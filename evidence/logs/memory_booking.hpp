#pragma once
/// A device's memory, split into named terms. They add up to its capacity, to the memory granted or free at the
/// start, or only to the logged sizes.

#include <vector>

#include "evidence/logs/memory_log.hpp"

namespace llmcalc {

enum class MemoryTerm : std::uint8_t {
  weights,
  weights_and_libraries,
  kv_cache,
  activations,
  activations_and_libraries,
  allocated,   ///< tensors of any purpose
  draft,       ///< weights and cache of a draft model
  workspaces,  ///< buffers that a server's runtime allocates once
  graphs,
  reserved,  ///< bytes reserved by PyTorch; the log does not state the allocated part
  slack,
  libraries,
  other_processes,
  outside,  ///< libraries and other processes together
  held_before_start,
  libraries_and_free,  ///< libraries and free memory together
  free,
  not_granted,
  not_said,
  unexplained
};
template <>
inline constexpr auto choices<MemoryTerm> =
    std::array{Choice{MemoryTerm::weights, "weights"},
               Choice{MemoryTerm::weights_and_libraries, "weights_and_libraries"},
               Choice{MemoryTerm::kv_cache, "kv_cache"},
               Choice{MemoryTerm::activations, "activations"},
               Choice{MemoryTerm::activations_and_libraries, "activations_and_libraries"},
               Choice{MemoryTerm::allocated, "allocated"},
               Choice{MemoryTerm::draft, "draft"},
               Choice{MemoryTerm::workspaces, "workspaces"},
               Choice{MemoryTerm::graphs, "graphs"},
               Choice{MemoryTerm::reserved, "reserved"},
               Choice{MemoryTerm::slack, "slack"},
               Choice{MemoryTerm::libraries, "libraries"},
               Choice{MemoryTerm::other_processes, "other_processes"},
               Choice{MemoryTerm::outside, "outside"},
               Choice{MemoryTerm::held_before_start, "held_before_start"},
               Choice{MemoryTerm::libraries_and_free, "libraries_and_free"},
               Choice{MemoryTerm::free, "free"},
               Choice{MemoryTerm::not_granted, "not_granted"},
               Choice{MemoryTerm::not_said, "not_said"},
               Choice{MemoryTerm::unexplained, "unexplained"}};

struct BookedTerm {
  MemoryTerm term{};
  Bytes bytes{};         ///< negative if the other terms exceed the total, or due to the log's rounding
  bool derived = false;  ///< whether the bytes are the remainder of other terms, not logged
};

/// The total to which the terms add up.
enum class BookedWhole : std::uint8_t { capacity, granted, said, free_at_start };
template <>
inline constexpr auto choices<BookedWhole> =
    std::array{Choice{BookedWhole::capacity, "capacity"}, Choice{BookedWhole::granted, "granted"},
               Choice{BookedWhole::said, "said"}, Choice{BookedWhole::free_at_start, "free_at_start"}};

struct MemoryBooking {
  std::optional<Count> gpu{};
  std::vector<BookedTerm> terms{};
  BookedWhole whole = BookedWhole::said;
  Bytes all{};       ///< the sum of the terms
  Bytes rounding{};  ///< maximum rounding error of the logged sum
  std::optional<Bytes> term(MemoryTerm t) const;
};

/// Defaults for values that a log may lack, and how tensor memory is counted.
struct BookingDefaults {
  std::optional<Bytes> capacity{};      ///< memory capacity of the device
  std::optional<double> utilization{};  ///< --gpu-memory-utilization of a vLLM server
  bool pools_apart = true;  ///< whether tensors in CUDA graph pools are counted separately from other tensors
};

MemoryBooking book(const ServerStart& s, const BookingDefaults& defaults);
MemoryBooking book(const OutOfMemory& o, const BookingDefaults& defaults);
/// Attributes the peak memory in an allocator table to memory terms.
MemoryBooking book(const MemorySummary& s, const BookingDefaults& defaults);
/// Attributes a rank's peak memory to memory terms.
MemoryBooking book(const RankMemory& r, const BookingDefaults& defaults);
/// Attributes the memory of every device in a log to memory terms.
std::vector<MemoryBooking> book(const MemoryLog& log, const BookingDefaults& defaults);

/// The process that ran out of memory. The message marks it; in a container with different process ids, it is instead
/// the only process that uses at least the memory reserved by PyTorch. Null if unknown.
const DeviceProcess* own_process(const OutOfMemory& o);

}  // namespace llmcalc
