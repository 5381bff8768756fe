#include "tests/serve/plain_server.hpp"

#include <algorithm>
#include <limits>

namespace llmcalc::test {

void PlainServer::send_first() {
  Count begun = 0;
  for (std::size_t i = 0; i < due_.size(); ++i) {
    const ServerRequest r = traffic_.requests[i];
    if (r.after == no_request && (traffic_.users == 0 || begun++ < traffic_.users)) due_[i] = ticks(r.at);
  }
}

void PlainServer::answered(RequestId id) {
  bool waited_for = false;
  for (std::size_t i = 0; i < due_.size(); ++i) {
    if (traffic_.requests[i].after != id) continue;
    due_[i] = answers[id].last + ticks(traffic_.requests[i].at);
    waited_for = true;
  }
  if (waited_for || traffic_.users == 0) return;
  for (std::size_t i = 0; i < due_.size(); ++i) {
    if (traffic_.requests[i].after != no_request || due_[i] != never || answers[i].sent != never) continue;
    due_[i] = answers[id].last + ticks(traffic_.requests[i].at);
    return;
  }
}

Ticks PlainServer::next_due() const { return *std::min_element(due_.begin(), due_.end()); }

void PlainServer::put(const Sequence& s, bool front) {
  if (rules_.admission == Admission::first_come) {
    waiting_.insert(front ? waiting_.begin() : waiting_.end(), s);
    return;
  }
  const auto behind = [&](const Sequence& o) {
    return std::pair(request(o).priority, o.arrival) > std::pair(request(s).priority, s.arrival);
  };
  waiting_.insert(std::find_if(waiting_.begin(), waiting_.end(), behind), s);
}

void PlainServer::take_arrivals() {
  while (next_due() <= now_) {
    const auto i = static_cast<std::size_t>(std::min_element(due_.begin(), due_.end()) - due_.begin());
    answers[i].sent = due_[i];
    due_[i] = never;
    const auto id = static_cast<RequestId>(i);
    put({.id = id, .arrival = arrivals_++, .random = draft_random(rules_.speculation, id)}, false);
  }
}

/// Looks at new requests, except within poll_passes decode passes.
void PlainServer::look() {
  unpolled_ = only_decoded_ && !running_.empty() ? (unpolled_ + 1) % rules_.poll_passes : 0;
  if (unpolled_ == 0) seen_ = arrivals_;
}

void PlainServer::decide() {
  look();
  for (Sequence& s : running_) s.now = 0;
  budget_ = rules_.pass_tokens;
  preempted_ = false;
  moved_ = 0;
  const bool apart = rules_.batching == Batching::prompts_first;
  serve_running(true, !apart);
  if (!preempted_) admit();
  const bool any = std::any_of(running_.begin(), running_.end(), [](const Sequence& s) { return s.now > 0; });
  if (apart && !any) serve_running(false, true);
}

void PlainServer::run() {
  free_ = rules_.blocks;
  send_first();
  while (!waiting_.empty() || !running_.empty() || next_due() != never) {
    if (waiting_.empty() && running_.empty()) now_ = std::max(now_, next_due());
    take_arrivals();
    decide();
    const PassWork w = work();
    most_rows = std::max(most_rows, w.rows());
    most_blocks = std::max(most_blocks, rules_.blocks - available());
    now_ += times_.pass(w);
    ++passes;
    finish();
  }
}

/// Serves sequences in order. False if one could not be served.
bool PlainServer::serve_running(bool prompts, bool decoding) {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0;) {
    const RequestId id = running_[i].id;
    const bool decode = decodes(running_[i]);
    if (!(decode ? decoding : prompts)) {
      ++i;
      continue;
    }
    Count n = tokens(running_[i]) + drafts(running_[i]) - running_[i].computed;
    if (!decode && rules_.chunk_tokens > 0) n = std::min(n, rules_.chunk_tokens);
    n = std::min(n, budget_);
    const auto need = [&](const Sequence& s) {
      return std::max<Count>(0, blocks(s.computed + n) - s.own_blocks - s.of_chains);
    };
    while (need(running_[i]) > available()) {
      const std::size_t v = victim();
      const bool itself = running_[v].id == id;
      preempt(v);
      if (itself) return false;
      if (v < i) --i;
    }
    Sequence& s = running_[i];
    const Count more = need(s);
    take(more);
    s.own_blocks += more;
    s.now = n;
    budget_ -= n;
    ++i;
  }
  return true;
}

std::size_t PlainServer::victim() const {
  if (rules_.admission == Admission::first_come) return running_.size() - 1;
  const auto before = [&](const Sequence& a, const Sequence& b) {
    return std::pair(request(a).priority, a.arrival) < std::pair(request(b).priority, b.arrival);
  };
  return static_cast<std::size_t>(std::max_element(running_.begin(), running_.end(), before) - running_.begin());
}

void PlainServer::preempt(std::size_t i) {
  Sequence s = running_[i];
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  budget_ += s.now;
  s.now = 0;
  s.decoding = false;
  keep(s);
  s.swapped = rules_.preemption == Preemption::swap;
  if (s.swapped)
    moved_ += blocks(s.computed);
  else
    s.computed = 0;
  release(s);
  ++answers[s.id].preemptions;
  preempted_ = true;
  put(s, true);
}

void PlainServer::admit() {
  while (!waiting_.empty() && waiting_.front().arrival < seen_ && budget_ > 0 &&
         static_cast<Count>(running_.size()) < rules_.sequences) {
    Sequence s = waiting_.front();
    const std::vector<Part> parts = s.computed == 0 ? parts_of(s) : std::vector<Part>();
    const Count most = (tokens(s) - 1) / rules_.block_tokens, g = std::max<Count>(1, rules_.whole_groups);
    Count hits = 0, idle = 0;
    bool whole = true;
    for (const Part& p : parts) {
      const Count blocks = std::min(p.chain->cached / g, p.end - p.begin);
      if (whole) hits += blocks;
      whole = whole && blocks == p.end - p.begin;
    }
    hits = std::min(hits, most);
    for (const Part& p : parts)
      if (p.chain->users == 0)
        idle += std::min(p.chain->cached, g * std::max<Count>(0, std::min(hits, p.end) - p.begin));
    const Count computed = s.computed + hits * rules_.block_tokens;
    Count n = tokens(s) - computed;
    if (rules_.chunk_tokens > 0) n = std::min(n, rules_.chunk_tokens);
    n = std::min(n, budget_);
    const Count hit = g * hits, need = blocks(computed + n) - hit;
    if ((rules_.whole_prompt_fits ? blocks(tokens(s)) - hit : need) + idle > available()) return;
    waiting_.erase(waiting_.begin());
    for (const Part& p : parts) {
      if (p.chain->users++ > 0) continue;  // frees the chain's later blocks, which no sequence uses
      const Count used = g * std::max<Count>(0, std::min(hits, p.end) - p.begin);
      free_ += p.chain->cached - used;
      p.chain->cached = used;
    }
    if (s.generated == 0 && answers[s.id].preemptions == 0) answers[s.id].cached = computed;
    if (s.swapped) moved_ += blocks(s.computed);
    s.alone = s.computed > 0;
    s.of_chains = hit;
    s.computed = computed;
    s.own_blocks = need;
    take(need);
    s.now = n;
    budget_ -= n;
    running_.push_back(s);
  }
}

PassWork PlainServer::work() const {
  PassWork w;
  w.moved_blocks = moved_;
  for (const Sequence& s : running_) {
    if (s.now == 0) continue;
    const bool decode = decodes(s);
    const CoreWork all = chunk_work(s.computed, s.now, {}), near = chunk_work(s.computed, s.now, times_.reach);
    (decode ? w.decodes : w.prompts)[0] += all;
    if (times_.reach.limited()) (decode ? w.decodes : w.prompts)[1] += near;
    (decode ? w.decoded : w.prompt_tokens) += s.now;
    ++(decode ? w.decoding : w.chunks);
    if (decode) w.sampled += s.now;
    if (!decode && s.computed + s.now == tokens(s)) ++w.sampled;
    if (rules_.speculation.length > 0 && s.computed + s.now >= tokens(s)) ++w.drafting;
  }
  return w;
}

void PlainServer::finish() {
  std::vector<Sequence> left;
  std::vector<RequestId> done;
  const auto served = [&](bool decode) {
    return std::any_of(running_.begin(), running_.end(),
                       [&](const Sequence& s) { return s.now > 0 && decodes(s) == decode; });
  };
  only_decoded_ = served(true) && !served(false);
  for (Sequence& s : running_) {
    if (s.now == 0 || decodes(s)) continue;
    s.computed += s.now;
    keep(s);
    s.computed -= s.now;
  }
  for (Sequence& s : running_) {
    const bool decode = decodes(s);
    const Count all = tokens(s);
    s.swapped = s.now > 0 ? false : s.swapped;
    if (s.now == 0) {
      left.push_back(s);
      continue;
    }
    s.computed = std::min(all, s.computed + s.now);
    s.now = 0;
    if (s.computed == all) {
      const Count gain = 1 + (decode ? accepted_drafts(rules_.speculation, s.random) : 0);
      if (s.generated == 0) answers[s.id].first = now_;
      s.generated = std::min(request(s).generate, s.generated + gain);
      s.computed = tokens(s) - 1;
      s.decoding = true;
    }
    if (s.generated < request(s).generate) {
      left.push_back(s);
      continue;
    }
    answers[s.id].last = now_;
    done.push_back(s.id);
    keep(s);
    release(s);
  }
  running_ = left;
  for (const RequestId id : done) answered(id);
}

Count PlainServer::available() const {
  Count n = free_;
  for (const auto& [key, chain] : chains_) n += chain.users == 0 ? chain.cached : 0;
  return n;
}

void PlainServer::take(Count n) {
  for (; n > 0; --n) {
    if (free_ > 0) {
      --free_;
      continue;
    }
    Chain* oldest = nullptr;
    for (auto& [key, chain] : chains_)
      if (chain.users == 0 && chain.cached > 0 && (oldest == nullptr || chain.released < oldest->released))
        oldest = &chain;
    --oldest->cached;
  }
}

/// The parts of a sequence in token order: those of its prefix, then its session or itself.
std::vector<PlainServer::Part> PlainServer::parts_of(const Sequence& s) {
  if (!rules_.prefix_cache) return {};
  const ServerRequest r = request(s);
  const PrefixTree& tree = traffic_.requests.prefixes();
  std::vector<Part> all;
  Count end = r.prefix == no_chain ? 0 : r.prefix_tokens / rules_.block_tokens;
  all.push_back(
      {r.session != no_chain ? &chains_[{1, r.session}] : &chains_[{2, s.id}], end, std::numeric_limits<Count>::max()});
  for (ChainId p = r.prefix; p != no_chain; p = tree.parent(p)) {
    const Count begin = tree.begin(p) / rules_.block_tokens;
    all.insert(all.begin(), Part{&chains_[{0, p}], begin, end});
    end = begin;
  }
  return all;
}

/// Moves whole computed blocks to the sequence's chains.
void PlainServer::keep(Sequence& s) {
  if (s.alone) return;
  const Count whole = s.computed / rules_.block_tokens;
  for (const Part& p : parts_of(s))
    for (Count i = p.begin; i < std::min(whole, p.end); ++i) {
      if (p.chain->cached >= (i - p.begin + 1) * rules_.whole_groups) continue;
      p.chain->cached += rules_.whole_groups;
      s.own_blocks -= rules_.whole_groups;
      s.of_chains += rules_.whole_groups;
    }
}

/// Releases the last part first, so that its blocks are evicted first.
void PlainServer::release(Sequence& s) {
  free_ += s.own_blocks;
  s.own_blocks = s.of_chains = 0;
  if (s.alone) return;
  std::vector<Part> parts = parts_of(s);
  for (auto p = parts.rbegin(); p != parts.rend(); ++p)
    if (--p->chain->users == 0) p->chain->released = ++releases_;
}

}  // namespace llmcalc::test
