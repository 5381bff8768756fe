// Requests and answers stored by member.

#include "serve/request_list.hpp"
#include "serve/answer_list.hpp"
#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"

using namespace llmcalc;
using test::one_second;

TEST_CASE("a column returns its values whether they are equal or not", "[serve][list]") {
  CompactColumn<int> c(2, 7);
  c.set(1, 7);
  c.push_back(7);
  CHECK((c[0] == 7 && c[1] == 7 && c[2] == 7));
  c.set(0, 3);
  c.push_back(9);
  CHECK((c[0] == 3 && c[1] == 7 && c[2] == 7 && c[3] == 9));
  c.keep_first(1);
  CHECK((c.size() == 1 && c[0] == 3));
}

TEST_CASE("a request list returns each request as it was added", "[serve][list]") {
  const ServerRequest plain = test::request(10, 5);
  ServerRequest other{.at = Seconds(0.1), .prompt = Count{1} << 40, .generate = 3, .after = 0, .session = 4};
  other.prefix = 2;
  other.prefix_tokens = Count{1} << 33;
  other.priority = -1;
  RequestList all{plain, plain};
  all.push_back(other);
  const auto same = [](const ServerRequest& a, const ServerRequest& b) {
    return std::tie(a.at, a.prompt, a.generate, a.after, a.session, a.prefix, a.prefix_tokens, a.priority) ==
           std::tie(b.at, b.prompt, b.generate, b.after, b.session, b.prefix, b.prefix_tokens, b.priority);
  };
  CHECK((same(all[0], plain) && same(all[1], plain) && same(all[2], other)));
  all.set(0, other);
  all.keep_first(1);
  CHECK((all.size() == 1 && same(all.front(), other) && same(all.back(), other)));
}

TEST_CASE("an answer list stores times from an attosecond to thousands of years", "[serve][list]") {
  AnswerList all(3);
  for (const Ticks t : {Ticks{0}, Ticks{1}, 20 * one_second, Ticks{1} << 110}) {
    all.set_sent(1, t);
    all.set_first(1, 3 * t);
    all.set_last(1, 7 * t);
    const AnswerTimes a = all[1];
    CHECK((a.sent == t && a.first == 3 * t && a.last == 7 * t));
    CHECK((all.sent(0) == never && all.first(2) == never && all.last(0) == never));
  }
  all.unset_last(1);
  all.count_preemption(1);
  CHECK((all.last(1) == never && all.preemptions(1) == 1 && all.preemptions(0) == 0));
}
