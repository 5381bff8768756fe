// Cached blocks of a scheduler: blocks of prefixes, sessions and preempted requests.

#include "serve/scheduler.hpp"

namespace llmcalc {

/// Sets a sequence's chains. Prefixes have even chain numbers, sessions odd ones. A sequence whose keys and values
/// come from another engine has a private copy and no chains.
void Scheduler::find_chains(Sequence& s) {
  if (s.computed > 0) return drop_chains(s);
  if (!rules_.prefix_cache || s.own != BlockCache::none) return;
  const ServerRequest& r = request(s);
  if (r.prefix != no_chain) s.prefix = cache_.chain(2 * r.prefix);
  s.own = r.session != no_chain ? cache_.chain(2 * r.session + 1) : cache_.make_chain();
}

/// The cached blocks that hold the first tokens of a sequence. Only whole blocks count, and the last token is
/// excluded, because it must be computed to sample the next one. The chain of a session or request begins after the
/// whole blocks of the prefix, and is usable only if the whole prefix is cached.
Scheduler::Hit Scheduler::hit(const Sequence& s) const {
  if (s.own == BlockCache::none) return {};
  const Count groups = rules_.whole_groups, most = (all_tokens(s) - 1) / rules_.block_tokens;
  const Count before = s.prefix == BlockCache::none ? 0 : request(s).prefix_tokens / rules_.block_tokens;
  Hit h;
  if (before > 0) {
    h.of_prefix = groups * std::min({cache_.cached(s.prefix) / groups, before, most});
    h.idle = cache_.idle(s.prefix);
  }
  h.idle += cache_.idle(s.own);
  if (h.of_prefix == groups * before)
    h.of_own = groups * std::min(cache_.cached(s.own) / groups, std::max<Count>(0, most - before));
  return h;
}

/// Records that the first `tokens` tokens are computed, and moves their blocks into the sequence's chains unless
/// these already have them.
void Scheduler::keep(Sequence& s, Count tokens) {
  if (s.own == BlockCache::none) return;
  const Count whole = tokens / rules_.block_tokens;
  const Count before = s.prefix == BlockCache::none ? 0 : request(s).prefix_tokens / rules_.block_tokens;
  const auto grow = [&](BlockCache::Chain c, Count& used, Count positions) {
    const Count more = rules_.whole_groups * positions - cache_.cached(c);
    if (more <= 0) return;
    cache_.extend(c, more);
    used += more;
    s.held -= more;
  };
  if (before > 0) grow(s.prefix, s.of_prefix, std::min(before, whole));
  if (whole > before) grow(s.own, s.of_own, whole - before);
}

void Scheduler::drop_chains(Sequence& s) {
  if (s.own != BlockCache::none && request(s).session == no_chain) cache_.abandon(s.own);
  s.own = s.prefix = BlockCache::none;
}

/// Releases the sequence's blocks so that the blocks of its last tokens are evicted first.
void Scheduler::release(Sequence& s) {
  cache_.give(s.held);
  s.held = s.of_prefix = s.of_own = 0;
  if (s.own == BlockCache::none) return;
  cache_.release(s.own);
  if (s.prefix != BlockCache::none) cache_.release(s.prefix);
}

}  // namespace llmcalc
