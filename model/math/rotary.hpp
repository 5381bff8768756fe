#pragma once
/// Rotary positions (RoFormer, arXiv:2104.09864): rotation of each pair of values per position.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "calc/arch/numerics.hpp"

namespace llmcalc::model {

struct Rotary {
  std::vector<double> frequency;  ///< radians per position of every pair
  double scale = 1;               ///< factor on cosines and sines
  bool operator==(const Rotary&) const = default;
};

inline constexpr double full_turn = 2 * std::numbers::pi;

inline std::vector<double> plain_frequencies(double base, Count width) {
  std::vector<double> f(static_cast<std::size_t>((width + 1) / 2));
  for (std::size_t i = 0; i < f.size(); ++i)
    f[i] = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
  return f;
}

/// _compute_dynamic_ntk_parameters: base (f l/t - (f - 1))^(w/(w - 2)) for a sequence of l > t tokens.
inline double stretched_base(const Rope& r, Count width, Count length) {
  const double w = static_cast<double>(width), t = static_cast<double>(r.trained);
  const double longer = std::max(1.0, static_cast<double>(length) / t);
  return r.base * std::pow(r.factor * longer - (r.factor - 1), w / (w - 2));
}

/// _compute_llama3_parameters: pairs with fewer than `low` rotations within the trained length are slowed by the
/// factor, pairs with more than `high` are unchanged, and in between, the slowdown decreases gradually.
inline double slowed_as_llama3(const Rope& r, double f) {
  const double turns = static_cast<double>(r.trained) * f / full_turn;
  const double saved = std::clamp((turns - r.low) / (r.high - r.low), 0.0, 1.0);
  return (1 - saved) * f / r.factor + saved * f;
}

/// The (fractional) index of the pair with `turns` rotations within the trained length (find_correction_dim).
inline double pair_of_turns(const Rope& r, double width, double turns) {
  return width * std::log(static_cast<double>(r.trained) / (turns * full_turn)) / (2 * std::log(r.base));
}

/// _compute_yarn_parameters: pairs before `first` are unchanged, pairs after `last` are slowed by the factor, and the
/// slowdown grows in between.
inline void slow_by_yarn(const Rope& r, Count width, std::vector<double>& f) {
  const double w = static_cast<double>(width);
  double first = pair_of_turns(r, w, r.fast), last = pair_of_turns(r, w, r.slow);
  if (r.whole) first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0), last = std::min(last, w - 1);
  if (first == last) last += 0.001;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double slowed = std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
    f[i] = slowed * f[i] / r.factor + (1 - slowed) * f[i];
  }
}

/// Rotations of the (width + 1) / 2 pairs of `width` values: base^(-2i/width) radians per position, scaled as r
/// specifies. `length`: number of tokens in the sequence, for dynamic scaling. The scaled forms follow hf
/// modeling_rope_utils.py, whose function names are given in the comments above.
inline Rotary rotary(const Rope& r, Count width, Count length) {
  const double base = r.scaling == RopeScaling::dynamic ? stretched_base(r, width, length) : r.base;
  Rotary turns{plain_frequencies(base, width), r.scaling == RopeScaling::yarn ? r.attention_factor : 1};
  if (r.scaling == RopeScaling::yarn) slow_by_yarn(r, width, turns.frequency);
  for (double& f : turns.frequency) {
    if (r.scaling == RopeScaling::linear) f /= r.factor;
    if (r.scaling == RopeScaling::llama3) f = slowed_as_llama3(r, f);
  }
  return turns;
}

}  // namespace llmcalc::model
