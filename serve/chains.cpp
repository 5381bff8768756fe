// Cached blocks of a scheduler: blocks of prefixes, sessions and preempted requests.

#include <algorithm>

#include "serve/scheduler.hpp"

namespace llmcalc {

/// Sets a sequence's chains. Prefixes have even chain numbers, sessions odd ones. A sequence whose keys and values
/// come from another engine has a private copy and no chains.
void Scheduler::find_chains(Sequence& s) {
  if (s.computed > 0) return drop_chains(s);
  if (!rules_.prefix_cache || s.own != BlockCache::none) return;
  const ServerRequest& r = request(s);
  s.prefix = r.prefix;
  s.own = r.session != no_chain ? cache_.chain(2 * r.session + 1) : cache_.make_chain();
}

/// Calls `use` with the chain of each part of a sequence's prefix, the last part first, and with the numbers of blocks
/// before its begin and its end. A block belongs to the part in which it ends.
template <typename Use>
void Scheduler::for_each_part(const Sequence& s, const Use& use) {
  const PrefixTree& tree = requests_.prefixes();
  Count end = prefix_blocks(s);
  for (ChainId part = s.prefix; part != no_chain; part = tree.parent(part)) {
    const Count begin = tree.begin(part) / rules_.block_tokens;
    use(cache_.chain(2 * part), begin, end);
    end = begin;
  }
}

/// Number of whole blocks of a sequence's prefix in each group.
Count Scheduler::prefix_blocks(const Sequence& s) const {
  return s.prefix == no_chain ? 0 : request(s).prefix_tokens / rules_.block_tokens;
}

/// The cached blocks that hold the first tokens of a sequence. Only whole blocks count, and the last token is
/// excluded, because it must be computed to sample the next one. A part of a prefix is usable only if all parts before
/// it are cached; the chain of a session or request begins after the whole blocks of the prefix and is its last part.
Scheduler::Hit Scheduler::hit(const Sequence& s) {
  if (s.own == BlockCache::none) return {};
  const Count groups = rules_.whole_groups, most = (all_tokens(s) - 1) / rules_.block_tokens;
  Count found = cache_.cached(s.own) / groups;
  for_each_part(s, [&](BlockCache::Chain c, Count begin, Count end) {
    const Count cached = cache_.cached(c) / groups, all = end - begin;
    found = cached < all ? cached : all + found;
  });
  found = std::min(found, most);
  Hit h{.of_prefix = groups * std::min(found, prefix_blocks(s))};
  h.of_own = groups * found - h.of_prefix;
  h.idle = std::min(cache_.idle(s.own), h.of_own);
  for_each_part(s, [&](BlockCache::Chain c, Count begin, Count end) {
    h.idle += std::min(cache_.idle(c), used_of_part(h, begin, end));
  });
  return h;
}

/// Number of a part's blocks that are in a hit.
Count Scheduler::used_of_part(const Hit& h, Count begin, Count end) const {
  const Count groups = rules_.whole_groups;
  return std::clamp<Count>(h.of_prefix - groups * begin, 0, groups * (end - begin));
}

/// Starts to use a sequence's chains, of which it needs the blocks of a hit.
void Scheduler::use_chains(const Sequence& s, const Hit& h) {
  if (s.own == BlockCache::none) return;
  cache_.use(s.own, h.of_own);
  for_each_part(s, [&](BlockCache::Chain c, Count begin, Count end) { cache_.use(c, used_of_part(h, begin, end)); });
}

/// Records that the first `tokens` tokens are computed, and moves their blocks into the sequence's chains unless
/// these already have them.
void Scheduler::keep(Sequence& s, Count tokens) {
  if (s.own == BlockCache::none) return;
  const Count whole = tokens / rules_.block_tokens, before = prefix_blocks(s);
  const auto grow = [&](BlockCache::Chain c, Count& used, Count positions) {
    const Count more = rules_.whole_groups * positions - cache_.cached(c);
    if (more <= 0) return;
    cache_.extend(c, more);
    used += more;
    s.held -= more;
  };
  for_each_part(s, [&](BlockCache::Chain c, Count begin, Count end) {
    if (whole > begin) grow(c, s.of_prefix, std::min(end, whole) - begin);
  });
  if (whole > before) grow(s.own, s.of_own, whole - before);
}

void Scheduler::drop_chains(Sequence& s) {
  if (s.own != BlockCache::none && request(s).session == no_chain) cache_.abandon(s.own);
  s.own = BlockCache::none;
  s.prefix = no_chain;
}

/// Releases the sequence's blocks so that the blocks of its last tokens are evicted first.
void Scheduler::release(Sequence& s) {
  cache_.give(s.held);
  s.held = s.of_prefix = s.of_own = 0;
  if (s.own == BlockCache::none) return;
  cache_.release(s.own);
  for_each_part(s, [&](BlockCache::Chain c, Count, Count) { cache_.release(c); });
}

}  // namespace llmcalc
