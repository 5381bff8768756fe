#include "ask/answer/serving/whole_run.hpp"

#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/run.hpp"
#include "ask/answer/serving/steady.hpp"
#include "ask/answer/serving/traffic.hpp"
#include "ask/request/check/serving.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"

namespace llmcalc {

std::optional<WholeRun> whole_run(const Request& r) {
  WholeRun all{.request = r, .engine = {}, .traffic = {}, .run = {}, .served = {}};
  settle_serving(all.request);
  check_serving(all.request);
  all.engine = serving_engine(all.request);
  if (!holds_a_request(all.request, all.engine)) return std::nullopt;
  all.traffic = serving_traffic(all.request, all.engine);
  all.run = serving_run(all.request, all.engine, all.traffic, false, [](Count, Count) { return true; });
  all.served = served_of(all.request, all.traffic, all.run.run);
  return all;
}

}  // namespace llmcalc
