// 'llmcalc serve --trace': the event log.

#include <cmath>
#include <map>
#include <utility>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

json::Value trace_of(const std::string& options) {
  const std::string path = test::scratch() + "/serve-trace.json";
  const test::Ran r = test::llmcalc("serve llama-3.1-8b --hardware h100 " + options + " --trace " + path);
  CHECK(r.code == 0);
  return json::parse(test::read_file(path), path)["traceEvents"];
}

}  // namespace

TEST_CASE("a server's trace contains every pass and every request without overlap", "[serve][trace][cli]") {
  std::map<std::pair<Count, Count>, double> ends;
  std::map<std::string, Count> events;
  for (const json::Value& e : trace_of("--rate 10 --num-requests 200 --replicas 2")) {
    if (e["ph"] != "X") continue;
    double& end = ends[{e["pid"].get<Count>(), e["tid"].get<Count>()}];
    const double start = e["ts"], duration = e["dur"];
    CHECK(std::llround(1e3 * start) >= std::llround(1e3 * end));  // compared in whole nanoseconds
    end = start + duration;
    ++events[e["cat"] == "request" ? e["name"].get<std::string>() : "pass"];
  }
  CHECK(events["wait"] == 200);
  CHECK(events["answer"] == 200);
  CHECK(events["pass"] > 200);  // the end of a prompt or an answer changes the batch
}
