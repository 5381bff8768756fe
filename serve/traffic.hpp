#pragma once
/// Requests over time, from a list or drawn from distributions.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "calc/choice.hpp"
#include "serve/client_start.hpp"
#include "serve/random.hpp"
#include "serve/request_list.hpp"

namespace llmcalc {

/// Requests and the number of their senders. Without users, each request arrives at its time ServerRequest::at;
/// requests that do not wait for an answer are in order of arrival. With N users, the first N of these requests
/// arrive at their times. Each later one, in order, follows the next answer that no other request waits for, and its
/// time counts from that answer.
struct RequestTraffic {
  RequestList requests;
  Count users = 0;
  ClientStart start = ClientStart::spread;  ///< if the users start together, the whole run counts (CountedAnswers)
  Ticks held = 0;  ///< time that the first request of each user waits before the engine receives it
};
/// Starts the users of a closed loop at even intervals over `cycle`, the time from one request of a user to the next.
/// `offset`: start of the first user, as a fraction of an interval.
void spread_starts(RequestTraffic& t, Seconds cycle, double offset = 0);
/// Holds back the first request of each user if several users start together. A single user does not wait, since
/// benchmarks send a request before they measure.
void hold_first_wave(RequestTraffic& t, Seconds delay);

/// A distribution of times or lengths. A drawn length is rounded to whole tokens, at least 1.
struct Distribution {
  enum class Kind : std::uint8_t { constant, exponential, gamma, log_normal, uniform, histogram } kind = Kind::constant;
  double mean = 0;
  double spread = 0;  ///< gamma, log-normal: standard deviation divided by the mean; uniform: half of the width
                      ///< divided by the mean
  std::vector<std::pair<double, double>> bins{};  ///< histogram: upper end and weight of each bin, ascending; uniform
                                                  ///< within a bin
};
double draw(const Distribution& d, Random& random);
/// The mean of the distribution.
double mean(const Distribution& d);

/// Open traffic: `count` sessions begin at drawn intervals (exponential for Poisson arrivals). Each has `turns`
/// requests; every request after the first arrives `think` seconds after the previous answer, and its prompt consists
/// of all earlier tokens of the session and a new part.
struct OpenTraffic {
  Count count = 0;
  Distribution interval{};
  Distribution prompt{}, generate{};
  Count turns = 1;
  Distribution think{};
  Count prefix_tokens = 0;  ///< length of a prefix that all prompts share (a system prompt), in addition to `prompt`
  std::uint64_t seed = 0;
  std::function<bool()> goes_on{};  ///< called occasionally; returns false to stop drawing
};
RequestTraffic open_traffic(const OpenTraffic& t);

/// A closed loop of users. Each user sends the next request `think` seconds after an answer, until `count` requests
/// have been sent.
struct ClosedTraffic {
  Count users = 1, count = 0;
  Distribution prompt{}, generate{}, think{};
  Count prefix_tokens = 0;
  std::uint64_t seed = 0;
  std::function<bool()> goes_on{};
};
RequestTraffic closed_traffic(const ClosedTraffic& t);

}  // namespace llmcalc
