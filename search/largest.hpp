#pragma once
/// The largest batch, sequence, micro-batch or model that some plan on a number of devices holds.

#include "search/reverse.hpp"

namespace llmcalc {

enum class Largest : std::uint8_t {
  batch,        ///< sequences of a step: multiples of the devices, and of a micro-batch that is given
  sequence,     ///< tokens of a sequence
  micro_batch,  ///< sequences of a micro-batch
  layers        ///< of the model, its other shapes as they are
};
template <>
inline constexpr auto choices<Largest> =
    std::array{Choice{Largest::batch, "batch"}, Choice{Largest::sequence, "sequence"},
               Choice{Largest::micro_batch, "micro-batch"}, Choice{Largest::layers, "layers"}};

struct LargestQuestion {
  Largest of = Largest::sequence;
  bool batch_follows = false;  ///< micro_batch: a step is one of them per device, whatever the batch of the space
};
/// The space with so much of it.
Space with_value(const Space& space, const LargestQuestion& q, Count value);
/// How much of it the space has.
Count value_of(const Space& space, const LargestQuestion& q);

/// The model with another number of layers: the first of its own, then such as repeat the shortest period of the kinds
/// of the second half of its own (dense layers before those with experts stay where they are).
Arch of_layers(const Arch& arch, Count layers);

struct TriedValue {
  Count value = 0;
  std::optional<Found> plan{};  ///< one that fits
};
struct LargestFound {
  std::optional<Count> value{};  ///< absent: nothing that was tried fits
  bool any = false;              ///< batch: more fits too, however much: a pipeline keeps no more micro-batches at once
  bool bounded = false;          ///< the most that there is: learned positions end, or max_layers
  std::vector<TriedValue> tried;  ///< in the order of trying
  bool stopped = false;           ///< before the end: `value` is the largest that is known to fit
};
/// Doubles from a usual value, or halves it, then narrows the gap: to 1, for sequences to a 64th of the length. A
/// micro-batch under a stated batch is one of its divisors, tried from the largest on. `space` has one number of
/// devices; a search may end at the first plan that fits.
LargestFound largest(const Space& space, const LargestQuestion& q, const Searching& searching);

}  // namespace llmcalc
