#pragma once
/// A server that steps through every sequence in every pass, written as plainly as possible: the reference for the
/// server in serve/.

#include <map>
#include <vector>

#include "serve/drafts.hpp"
#include "serve/scheduler_rules.hpp"
#include "serve/times/pass_times.hpp"
#include "serve/traffic.hpp"

namespace llmcalc::test {

class PlainServer {
 public:
  PlainServer(const SchedulerRules& rules, const PassTimes& times, const RequestTraffic& traffic)
      : rules_(rules),
        times_(times),
        traffic_(traffic),
        answers(traffic.requests.size()),
        due_(answers.size(), never) {}

  /// Serves all requests.
  void run();

 private:
  struct Chain {
    Count cached = 0, users = 0, released = 0;
  };
  /// Part of a sequence whose blocks are in a chain; begin and end in blocks.
  struct Part {
    Chain* chain;
    Count begin, end;
  };
  struct Sequence {
    RequestId id;
    Count computed = 0, generated = 0;
    Count own_blocks = 0;   ///< blocks outside of chains
    Count of_chains = 0;    ///< blocks of its chains that it uses
    Count arrival = 0;      ///< index in order of arrival
    Count now = 0;          ///< tokens in the pass
    bool decoding = false;  ///< has produced a token since its last preemption
    bool swapped = false;
    bool alone = false;  ///< stores its keys and values outside of chains
    Random random{0};
  };

  ServerRequest request(const Sequence& s) const { return traffic_.requests[s.id]; }
  Count tokens(const Sequence& s) const { return request(s).prompt + s.generated; }
  bool decodes(const Sequence& s) const { return s.decoding; }
  Count drafts(const Sequence& s) const { return decodes(s) ? rules_.speculation.length : 0; }
  Count blocks(Count n) const { return blocks_of(rules_, times_.reach, n); }

  void send_first();
  void answered(RequestId id);
  void take_arrivals();
  void decide();
  Ticks next_due() const;
  void put(const Sequence& s, bool front);

  bool serve_running(bool prompts, bool decoding);
  std::size_t victim() const;
  void preempt(std::size_t i);
  void look();
  void admit();
  PassWork work() const;
  void finish();

  Count available() const;
  void take(Count n);
  std::vector<Part> parts_of(const Sequence& s);
  void keep(Sequence& s);
  void release(Sequence& s);

  const SchedulerRules rules_;
  const PassTimes& times_;
  const RequestTraffic& traffic_;

 public:
  std::vector<AnswerTimes> answers;
  Count passes = 0, most_blocks = 0, most_rows = 0;

 private:
  std::vector<Ticks> due_;
  std::vector<Sequence> waiting_, running_;
  std::map<std::pair<int, Count>, Chain> chains_;
  Ticks now_ = 0;
  Count free_ = 0, arrivals_ = 0, releases_ = 0, moved_ = 0, budget_ = 0;
  bool preempted_ = false, only_decoded_ = false;
  Count seen_ = 0, unpolled_ = 0;  ///< requests that the engine has looked at; decode passes since then
};

}  // namespace llmcalc::test
