#pragma once
/// Requests over time: a list that is known before, or drawn from distributions.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "calc/choice.hpp"
#include "serve/random.hpp"
#include "serve/request.hpp"

namespace llmcalc {

/// Requests and who sends them. Without users, each comes at its time: those that wait for no answer are in order of
/// arrival. With N users, the first N that wait for no answer come at their times, and each of the others, in order,
/// after the next answer that no request waits for; its time counts from that answer.
struct RequestTraffic {
  std::vector<ServerRequest> requests;
  Count users = 0;
};

/// A time or a length that is drawn: of these means, to the nearest whole token where it is a length, which is at least
/// 1.
struct Distribution {
  enum class Kind : std::uint8_t { constant, exponential, gamma, log_normal, uniform, histogram } kind = Kind::constant;
  double mean = 0;
  double spread = 0;  ///< standard deviation over the mean: gamma, log-normal; half the width over the mean: uniform
  std::vector<std::pair<double, double>> bins{};  ///< of a histogram: upper end, weight; ascending; evenly within a bin
};
double draw(const Distribution& d, Random& random);
/// The mean of what is drawn.
double mean(const Distribution& d);

/// Open traffic: `count` sessions begin at intervals (Poisson: exponential ones); each has `turns` requests, each
/// turn's prompt being all tokens before it and a new part, after `think` seconds.
struct OpenTraffic {
  Count count = 0;
  Distribution interval{};
  Distribution prompt{}, generate{};
  Count turns = 1;
  Distribution think{};
  Count prefix_tokens = 0;  ///< with which every prompt begins (a system prompt), in `prompt` not counted
  std::uint64_t seed = 0;
  std::function<bool()> goes_on{};  ///< asked now and then; false: what is drawn by then is all
};
RequestTraffic open_traffic(const OpenTraffic& t);

/// A closed loop of users, each of whom sends its next request `think` seconds after an answer, until `count` requests
/// were sent.
struct ClosedTraffic {
  Count users = 1, count = 0;
  Distribution prompt{}, generate{}, think{};
  Count prefix_tokens = 0;
  std::uint64_t seed = 0;
  std::function<bool()> goes_on{};
};
RequestTraffic closed_traffic(const ClosedTraffic& t);

}  // namespace llmcalc
