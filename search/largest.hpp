#pragma once
/// The largest batch, sequence, micro-batch or model for which a plan fits on a given number of devices.

#include "search/reverse.hpp"

namespace llmcalc {

enum class Largest : std::uint8_t {
  batch,        ///< sequences per step: multiples of the device count times the micro-batch size, if fixed
  sequence,     ///< tokens per sequence
  micro_batch,  ///< sequences per micro-batch
  layers        ///< layers of the model, with all other dimensions unchanged
};
template <>
inline constexpr auto choices<Largest> =
    std::array{Choice{Largest::batch, "batch"}, Choice{Largest::sequence, "sequence"},
               Choice{Largest::micro_batch, "micro-batch"}, Choice{Largest::layers, "layers"}};

struct LargestQuestion {
  Largest of = Largest::sequence;
  bool batch_follows = false;  ///< for micro_batch: whether the global batch is one micro-batch per device instead of
                               ///< the space's global batch
};
/// A copy of the space with the question's quantity set to `value`.
Space with_value(const Space& space, const LargestQuestion& q, Count value);
/// Value of the question's quantity in the space.
Count value_of(const Space& space, const LargestQuestion& q);

/// The model with `layers` layers: its first layers, followed by repetitions of the shortest period of layer kinds in
/// the second half of the model. Dense layers that precede the layers with experts thus keep their place.
Arch of_layers(const Arch& arch, Count layers);

struct TriedValue {
  Count value = 0;
  std::optional<Found> plan{};  ///< a plan that fits, if any
};
struct LargestFound {
  std::optional<Count> value{};   ///< absent: no value tried fits
  bool any = false;               ///< for batch: whether any larger batch also fits, because it does not increase the
                                  ///< number of micro-batches in flight
  bool bounded = false;           ///< whether the upper limit was reached: learned positions, or max_layers
  std::vector<TriedValue> tried;  ///< values in the order in which they were tried
  bool stopped = false;           ///< whether the search was stopped early: `value` is the largest value known to fit
};
/// Finds the largest value that fits: doubles or halves a typical value, then bisects until the gap is 1, or for
/// sequences 1/64 of the length. If the batch is fixed, only its divisors are tried as micro-batch sizes, from the
/// largest down. Precondition: `space` has one device count. Each search may end at the first plan that fits.
LargestFound largest(const Space& space, const LargestQuestion& q, const Searching& searching);

}  // namespace llmcalc
