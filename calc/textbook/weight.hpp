#pragma once
/// One row of the weight table, and helpers that write rows.

#include "calc/operator/op.hpp"

namespace llmcalc::textbook {

/// Placement of a weight under tensor parallelism.
enum class Place : std::uint8_t {
  cut,     ///< sharded across the ranks
  whole,   ///< replicated; a rank uses it for its tokens
  shared,  ///< replicated; a rank uses it only for its heads or its share of the experts
  after    ///< replicated: a bias added after the sum over ranks
};

/// `layers` x `times` x `copies` matrices (in, out), or vectors of `out` elements.
template <class N>
struct Weight {
  Component component{};
  N layers = 1;
  Count times = 1;            ///< number of equal weights, e.g. 2 for keys and values
  N copies = 1, visited = 1;  ///< number of experts, blocks or channel groups, and how many of them process a token
  bool matrix = false;
  N in = 1, out = 1;
  Place place = Place::cut;
  bool routed = false;  ///< whether it is a weight of a routed expert
  bool tied = false;    ///< whether it is counted elsewhere: a tied head, a router of residual streams, the final norm
                        ///< between loops
  bool lookup = false;  ///< whether it is a table used for lookups, not multiplied
  bool taps = false;    ///< whether it is a weight of a depthwise convolution; each tap is multiplied once per token
  bool norm = false;    ///< whether it is a weight of a norm inside attention, stored like other norms
  N numbers() const { return N(times) * copies * in * out; }
};

/// Helper that passes table rows to `visit`.
template <class N, class Visit>
class WeightRows {
 public:
  explicit WeightRows(Visit& visit) : visit_(visit) {}

 protected:
  static bool has(const N& layers) { return !(layers == N(0)); }
  void matrix(Component c, const N& layers, Count times, const N& in, const N& out, Place place = Place::cut) {
    visit_(Weight<N>{
        .component = c, .layers = layers, .times = times, .matrix = true, .in = in, .out = out, .place = place});
  }
  void vector(Component c, const N& layers, Count times, const N& size, Place place = Place::cut) {
    visit_(Weight<N>{.component = c, .layers = layers, .times = times, .out = size, .place = place});
  }
  /// Adds a norm's weights, counted as part of attention.
  void inner_norm(const N& layers, Count times, const N& size, Place place = Place::cut) {
    visit_(Weight<N>{.component = Component::attention,
                     .layers = layers,
                     .times = times,
                     .out = size,
                     .place = place,
                     .norm = true});
  }

  Visit& visit_;
};

}  // namespace llmcalc::textbook
