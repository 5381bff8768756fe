#pragma once
/// Drafts of tokens that a pass verifies (arXiv:2211.17192): each decoding sequence proposes some, by a small model, by
/// heads of its own (MTP) or from its text, and keeps those before the first that is refused, and one token more.

#include <array>
#include <cstdint>

#include "serve/random.hpp"
#include "serve/request.hpp"

namespace llmcalc {

inline constexpr Count most_drafts = 16;

/// A draft at position i is accepted with probability acceptance[i], given that those before it were.
struct Speculation {
  Count length = 0;  ///< drafts of a sequence in a pass; 0: none; at most most_drafts
  std::array<double, most_drafts> acceptance{};
  std::uint64_t seed = 0;
  bool on() const { return length > 0; }
};

/// The random numbers of a request, the same whatever else is served.
inline Random draft_random(const Speculation& s, RequestId id) {
  Random r(s.seed ^ (0x9e3779b97f4a7c15 * (id + std::uint64_t{1})));
  return Random(r.next());
}

/// Drafts that a sequence keeps of one pass.
inline Count accepted_drafts(const Speculation& s, Random& random) {
  for (Count i = 0; i < s.length; ++i)
    if (random.uniform() >= s.acceptance[static_cast<std::size_t>(i)]) return i;
  return s.length;
}

/// Tokens that a sequence gets of a pass on average: 1 + a_1 + a_1 a_2 + ...
inline double expected_tokens(const Speculation& s) {
  double sum = 1, all_before = 1;
  for (Count i = 0; i < s.length; ++i) sum += all_before *= s.acceptance[static_cast<std::size_t>(i)];
  return sum;
}

}  // namespace llmcalc
