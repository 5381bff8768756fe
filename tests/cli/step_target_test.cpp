/// Each change suggested by `train --target` reaches the target, and slightly less does not.

#include <fmt/format.h>

#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/settle.hpp"
#include "ask/request/software.hpp"
#include "presets/load.hpp"
#include "report/train/step_target.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string trained = "llama-3.1-8b --hardware h100 --tp 8 --sp --zero 1 --global-batch 64 ";

json::Value asked(const std::string& target, const std::string& more = "--gpus 16 ") {
  return test::ask("train " + trained + more + "--target '" + target + "'");
}

/// Seconds of the step on modified hardware.
double seconds_with(void (*change)(Cluster& c, double factor), double factor) {
  Request r;
  r.model = load_model("llama-3.1-8b");
  r.hardware = load_hardware("h100");
  r.parts = part::training | part::step | part::time;
  for (const auto& [flag, value] : {std::pair{"--tp", "8"}, std::pair{"--sp", ""}, std::pair{"--zero", "1"},
                                    std::pair{"--global-batch", "64"}, std::pair{"--gpus", "16"}})
    give(r, *find_option(flag), value);
  settle(r);
  change(r.hardware->cluster, factor);
  const Request changed = for_training(r);
  return train(changed.model.arch, changed.plan, changed.layout, changed.hardware->cluster).estimate.total().value;
}
void change_bandwidth(Cluster& c, double x) { c.device.bandwidth = x * c.device.bandwidth; }
void change_link(Cluster& c, double x) { c.levels[0].bandwidth = x * c.levels[0].bandwidth; }
void change_peak(Cluster& c, double x) {
  for (FlopsPerSecond& peak : c.device.peaks) peak = x * peak;
}

}  // namespace

TEST_CASE("the smallest rate increase reaches the requested step time, and a thousandth less does not", "[target]") {
  const double now = test::ask("train " + trained + "--gpus 16")["step"]["time_s"], wanted = 0.97 * now;
  const json::Value t = asked(fmt::format("{} s", wanted))["step_target"];
  CHECK(t["reached"] == false);
  CHECK(t["step_s"].get<double>() == Approx(wanted));
  for (const auto& [key, change] : {std::pair{"bandwidth_factor", &change_bandwidth},
                                    std::pair{"peak_factor", &change_peak}, std::pair{"link_factor", &change_link}}) {
    INFO(key);
    const double factor = t[key];
    CHECK(seconds_with(change, factor) <= wanted * (1 + 1e-9));
    CHECK(seconds_with(change, 0.999 * factor) > wanted);
  }
}

TEST_CASE("the suggested number of GPUs reaches the target, and smaller numbers do not", "[target]") {
  const auto rate = [](Count gpus) {
    return test::ask("train " + trained + fmt::format("--gpus {}", gpus))["step"]["tokens_per_s"].get<double>();
  };
  const double wanted = 0.99 * rate(64);
  CHECK(asked(fmt::format("{} tokens/s", wanted))["step_target"]["gpus"] == 64);
  CHECK(rate(32) < wanted);
  CHECK_THAT(asked("1 ms")["step_target"]["no_gpus"].get<std::string>(), Contains("takes"));
}

TEST_CASE("targets in MFU and in days are checked against the same step", "[target]") {
  const json::Value now = test::ask("train " + trained + "--gpus 16 --tokens 1T");
  const double mfu = now["step"]["mfu"], days = now["run"]["days"];
  for (const double off : {0.99, 1.01}) {
    CHECK(asked(fmt::format("{} MFU", off * mfu))["step_target"]["reached"] == (off < 1));
    CHECK(asked(fmt::format("{} days", off * days), "--gpus 16 --tokens 1T ")["step_target"]["reached"] == (off > 1));
  }
}

TEST_CASE("only a plan that fits reaches its target", "[target]") {
  const json::Value v = test::ask("train llama-3.1-405b --hardware h100 --tp 8 --sp --target '1000 s'");
  CHECK(v["step_target"]["reached"] == false);
  bool said = false;
  for (const json::Value& line : v["verdict"]["text"])
    said |= line.get<std::string>().starts_with("target: 1000 s is met in time, but the plan does not fit in memory") &&
            line.get<std::string>().find("does not fit") != std::string::npos;
  CHECK(said);
}
