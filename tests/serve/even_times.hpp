#pragma once
/// Times of passes that a reader can add up by hand.

#include "serve/request.hpp"
#include "serve/times/pass_times.hpp"

namespace llmcalc::test {

inline constexpr Ticks one_second = 1'000'000'000'000'000'000;

/// A pass of any rows takes 1 s, a token of a prompt 0.1 s more, a decoding sequence nothing.
inline PassTimes even_times() {
  PassTimes t;
  t.rows = PassRowTimes({{1, one_second}, {2, one_second}});
  t.prompts[0].push({.query = one_second / 10});
  return t;
}

/// A request of so many tokens at 0 s.
inline ServerRequest request(Count prompt, Count generate, Seconds at = {}) {
  ServerRequest r;
  r.at = at;
  r.prompt = prompt;
  r.generate = generate;
  return r;
}

}  // namespace llmcalc::test
