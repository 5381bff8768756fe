#include "ask/answer/serving/pace.hpp"

#include "ask/request/serving_inputs.hpp"

namespace llmcalc {

Request at_pace(Request r, double times) {
  ServingInputs& v = r.serving;
  const auto shorten = [&](std::optional<Seconds>& t) {
    if (t) t = 1 / times * *t;
  };
  shorten(v.slo_first_token);
  shorten(v.slo_per_token);
  shorten(v.duration);
  v.think = 1 / times * v.think;
  if (v.rate) *v.rate *= times;
  return r;
}

RequestTraffic at_pace(RequestTraffic t, double times) {
  for (std::size_t i = 0; i < t.requests.size(); ++i) t.requests.set_at(i, 1 / times * t.requests.at(i));
  return t;
}

}  // namespace llmcalc
