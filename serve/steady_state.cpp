#include "serve/steady_state.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// Seconds that a prompt adds to the pass that it rides along with.
Seconds added_by_prompt(const ClosedLoop& loop) { return std::max(Seconds(), loop.prompt - loop.step(1)); }

Seconds token_seconds(const ClosedLoop& loop, Seconds added, double decoding) {
  const double others = std::max(0.0, decoding - 1);
  return loop.step(decoding) + others / loop.generate * added;
}

/// Seconds in the queue of prompts that keep the server busy for a share of its time.
Seconds waiting(Seconds added, double busy) {
  const double share = std::min(busy, 0.95);
  return share / (2 * (1 - share)) * added;
}

}  // namespace

double SteadyState::tokens_per_second(const ClosedLoop& loop) const {
  return loop.clients * loop.generate / (first_token + loop.generate * per_token).value;
}

SteadyState steady_state(const ClosedLoop& loop) {
  const Seconds added = added_by_prompt(loop);
  const double most = std::min(loop.clients, loop.most_decoding);
  SteadyState s{.first_token = loop.prompt, .per_token = {}, .decoding = most};
  constexpr int rounds = 30;
  for (int i = 0; i < rounds; ++i) {
    s.per_token = token_seconds(loop, added, s.decoding);
    const Seconds answer = loop.generate * s.per_token;
    const double busy = (s.decoding - 1) * (added / answer);
    const Seconds for_a_place =
        loop.clients > most ? (loop.clients / most - 1) * (answer + loop.prompt) : Seconds();
    s.first_token = loop.prompt + (s.decoding > 1 ? 0.5 * s.per_token : Seconds()) +
                    waiting(added, std::max(0.0, busy)) + for_a_place;
    const Seconds served = s.first_token - for_a_place;
    s.decoding = 0.5 * (s.decoding + std::max(1.0, most * (answer / (answer + served))));
  }
  return s;
}

}  // namespace llmcalc
