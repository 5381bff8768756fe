#pragma once
/// Pass times that are easy to add up by hand.

#include "serve/request.hpp"
#include "serve/times/pass_times.hpp"

namespace llmcalc::test {

inline constexpr Ticks one_second = 1'000'000'000'000'000'000;

/// A pass takes 1 s for any rows and 0.1 s more per prompt token; decoding sequences add no time.
inline PassTimes even_times() {
  PassTimes t;
  t.rows = PassRowTimes({{1, one_second}, {2, one_second}});
  t.prompts[0].push({.query = one_second / 10});
  return t;
}

/// A request of these token counts, by default at 0 s.
inline ServerRequest request(Count prompt, Count generate, Seconds at = {}) {
  ServerRequest r;
  r.at = at;
  r.prompt = prompt;
  r.generate = generate;
  return r;
}

}  // namespace llmcalc::test
