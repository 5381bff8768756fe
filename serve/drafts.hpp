#pragma once
/// Speculative decoding (arXiv:2211.17192): draft tokens are proposed for each decoding sequence, by a small model, by
/// MTP heads or by lookup in the sequence's text. A pass verifies them. The sequence keeps the drafts before the first
/// rejected draft, and one token from the model.

#include <array>
#include <cstdint>

#include "serve/random.hpp"
#include "serve/request.hpp"

namespace llmcalc {

inline constexpr Count most_drafts = 16;

/// The draft at position i is accepted with probability acceptance[i] if all earlier drafts were accepted.
struct Speculation {
  Count length = 0;  ///< number of drafts per sequence and pass, at most most_drafts; 0: off
  std::array<double, most_drafts> acceptance{};
  std::uint64_t seed = 0;
  bool on() const { return length > 0; }
};

/// Random stream of a request, independent of other requests.
inline Random draft_random(const Speculation& s, RequestId id) {
  Random r(s.seed ^ (0x9e3779b97f4a7c15 * (id + std::uint64_t{1})));
  return Random(r.next());
}

/// Number of accepted drafts of a sequence in one pass.
inline Count accepted_drafts(const Speculation& s, Random& random) {
  for (Count i = 0; i < s.length; ++i)
    if (random.uniform() >= s.acceptance[static_cast<std::size_t>(i)]) return i;
  return s.length;
}

/// Expected number of tokens per sequence and pass: 1 + a_1 + a_1 a_2 + ...
inline double expected_tokens(const Speculation& s) {
  double sum = 1, all_before = 1;
  for (Count i = 0; i < s.length; ++i) sum += all_before *= s.acceptance[static_cast<std::size_t>(i)];
  return sum;
}

}  // namespace llmcalc
