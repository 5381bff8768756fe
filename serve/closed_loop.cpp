#include "serve/closed_loop.hpp"

#include <algorithm>
#include <deque>
#include <vector>

namespace llmcalc {
namespace {

class ServerLoop {
 public:
  ServerLoop(std::span<const RequestLengths> requests, const ServerRules& rules, const PassSeconds& passes)
      : requests_(requests), rules_(rules), passes_(passes) {}

  ServedMeans run(Count clients) {
    const auto at_once = std::min(clients, static_cast<Count>(requests_.size()));
    for (Count i = 0; i < at_once; ++i) send();
    while (!waiting_.empty() || !prefilling_.empty() || !decoding_.empty()) pass();
    return means();
  }

 private:
  struct InProgress {
    RequestLengths lengths;
    Count prompt_left, tokens_left;  ///< tokens that are to come
    Seconds sent, first{};
  };

  void send() {
    if (sent_ == requests_.size()) return;
    const RequestLengths& r = requests_[sent_++];
    waiting_.push_back({.lengths = r, .prompt_left = r.prompt, .tokens_left = r.generate, .sent = now_});
  }

  /// Takes requests into progress, as far as there is room. One is always taken.
  void admit() {
    while (!waiting_.empty()) {
      const auto in_progress = static_cast<Count>(prefilling_.size() + decoding_.size());
      const double needs = whole_length(waiting_.front());
      const bool fits = in_progress < rules_.sequences && held_ + needs <= rules_.cache_tokens;
      if (in_progress > 0 && !fits) return;
      held_ += needs;
      prefilling_.push_back(waiting_.front());
      waiting_.pop_front();
    }
  }

  void pass() {
    admit();
    if (prefilling_.empty()) return decode_until_one_ends();
    const bool decodes = !rules_.prompts_first && !decoding_.empty();
    const auto sequences = decodes ? static_cast<Count>(decoding_.size()) : 0;
    const std::size_t begun = decodes ? decoding_.size() : 0;
    const Count tokens = take_prompts(std::max<Count>(1, rules_.pass_tokens - sequences));
    now_ += passes_.step(std::max<Count>(1, sequences)) + static_cast<double>(tokens) * passes_.prompt_token;
    if (decodes) advance(begun, 1);
    end_prompts();
  }

  /// Tokens of prompts in the next pass, first come first.
  Count take_prompts(Count budget) {
    Count taken = 0;
    for (InProgress& r : prefilling_) {
      const Count some = std::min(r.prompt_left, budget - taken);
      r.prompt_left -= some;
      taken += some;
      if (taken == budget) break;
    }
    return taken;
  }

  /// Sequences whose prompts are done have their first token.
  void end_prompts() {
    while (!prefilling_.empty() && prefilling_.front().prompt_left == 0) {
      InProgress r = prefilling_.front();
      prefilling_.pop_front();
      r.first = now_;
      r.tokens_left -= 1;
      if (r.tokens_left > 0)
        decoding_.push_back(r);
      else
        end(r);
    }
  }

  /// Steps in which nothing but decoding goes on.
  void decode_until_one_ends() {
    Count steps = decoding_.front().tokens_left;
    for (const InProgress& r : decoding_) steps = std::min(steps, r.tokens_left);
    now_ += static_cast<double>(steps) * passes_.step(static_cast<Count>(decoding_.size()));
    advance(decoding_.size(), steps);
  }

  /// The first `n` sequences have `steps` more tokens; those that are done leave.
  void advance(std::size_t n, Count steps) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < decoding_.size(); ++i) {
      InProgress& r = decoding_[i];
      if (i < n) r.tokens_left -= steps;
      if (r.tokens_left == 0)
        end(r);
      else
        decoding_[kept++] = r;
    }
    decoding_.resize(kept);
  }

  void end(const InProgress& r) {
    held_ -= whole_length(r);
    first_ += r.first - r.sent + passes_.request;
    whole_ += now_ - r.sent + passes_.request;
    tokens_ += r.lengths.generate;
    if (r.lengths.generate > 1) {
      per_token_ += (1.0 / static_cast<double>(r.lengths.generate - 1)) * (now_ - r.first);
      ++several_;
    }
    send();
  }

  static double whole_length(const InProgress& r) { return static_cast<double>(r.lengths.prompt + r.lengths.generate); }

  ServedMeans means() const {
    const double share = 1 / static_cast<double>(requests_.size());
    return {.first_token = share * first_,
            .per_token = several_ > 0 ? (1 / static_cast<double>(several_)) * per_token_ : Seconds(),
            .request = share * whole_,
            .all = now_,
            .tokens = tokens_};
  }

  std::span<const RequestLengths> requests_;
  const ServerRules& rules_;
  const PassSeconds& passes_;
  std::size_t sent_ = 0;
  Seconds now_, first_, per_token_, whole_;
  Count tokens_ = 0, several_ = 0;
  double held_ = 0;  ///< tokens of the cache that requests in progress take
  std::deque<InProgress> waiting_, prefilling_;
  std::vector<InProgress> decoding_;
};

}  // namespace

ServedMeans serve_closed_loop(std::span<const RequestLengths> requests, Count clients, const ServerRules& rules,
                              const PassSeconds& passes) {
  return ServerLoop(requests, rules, passes).run(clients);
}

}  // namespace llmcalc
