/// infer, memory, fit and serve give the same capacity for sampled models, devices and engines.

#include <random>

#include "ask/answer/fit.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/server.hpp"
#include "ask/request/settle.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/fit.hpp"
#include "tests/catch.hpp"
#include "text/error.hpp"

using namespace llmcalc;

namespace {

struct Triple {
  ModelCard model;
  HardwareCard hardware;
  std::string engine;
};

/// The request parsed as if typed; absent if it is rejected.
std::optional<Request> typed(const Triple& s, Parts parts, bool served) {
  try {
    Request r;
    r.model = s.model;
    r.hardware = s.hardware;
    r.parts = parts;
    give(r, *find_option("--software"), s.engine);
    give(r, *find_option("--prompt"), "1000");
    give(r, *find_option("--generate"), "24");
    if (served) give(r, *find_option("--rate"), "1");
    settle(r);
    check(r);
    return r;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

constexpr Parts one_batch = part::inference | part::one_batch | part::time | part::hardware,
                memory_alone = part::inference | part::hardware,
                of_server = part::inference | part::serving | part::time | part::hardware,
                of_fit = part::inference | part::fit | part::time | part::hardware;

Count longest(const InferenceAnswer& a) { return a.limits().max_context.value_or(any_length); }

InferenceAnswer with_plan(const Request& r, Plan plan) {
  Request other = r;
  other.plan = std::move(plan);
  return InferenceAnswer(std::move(other));
}

/// Each limit fits and one more does not.
void check_limits(const Request& r) {
  const InferenceAnswer a(r);
  if (!a.limits().max_batch) return;
  const Count batch = *a.limits().max_batch, tokens = longest(a);
  if (batch > 0) CHECK(with_plan(r, with_batch(r.plan, batch)).fits());
  CHECK_FALSE(with_plan(r, with_batch(r.plan, batch + 1)).fits());
  if (tokens == any_length) return;
  if (tokens > 0) CHECK(with_plan(r, with_context(r.plan, tokens)).fits());
  CHECK_FALSE(with_plan(r, with_context(r.plan, tokens + 1)).fits());
}

/// Compares the answers for a sample; returns whether the sample was accepted.
bool compare(const Triple& s) {
  const auto infer = typed(s, one_batch, false), memory = typed(s, memory_alone, false),
             serve = typed(s, of_server, true), fit = typed(s, of_fit, false);
  if (!infer || !serve || !memory || !fit || !has_engine_memory(*infer)) return false;
  const InferenceAnswer a(*infer), of_memory(*memory), of_serve(*serve);
  const ServingEngine engine = serving_room(*serve);
  if (a.limits().max_context) CHECK(*a.limits().max_context == std::min(engine.longest, longest(of_serve)));
  CHECK(longest(a) == longest(of_memory));
  CHECK(a.memory().peak == of_memory.memory().peak);
  CHECK(a.fits() == (holds_a_request(*serve, engine) && serve->hardware->cluster.device.host.holds(a.memory().host)));
  CHECK(a.fits() == fit_of(a).is_expected());
  CHECK(fit_of(a).verdict == fit_of(of_serve).verdict);
  const InferenceAnswer row(request_to_fit(*fit, {}));
  CHECK(longest(row) == longest(a));
  CHECK(row.limits().max_batch == a.limits().max_batch);
  CHECK(fit_of(row).verdict == fit_of(a).verdict);
  check_limits(*infer);
  return true;
}

template <typename List>
std::string_view pick(const List& all, std::mt19937_64& random) {
  return all[random() % all.size()].name;
}

std::vector<std::string> engines() {
  std::vector<std::string> all;
  for (const Builtin& b : builtin_software())
    if (load_software(b.name).inference) all.emplace_back(b.name);
  return all;
}

}  // namespace

TEST_CASE("infer, memory, fit and serve agree on the longest context, the largest batch and the verdict",
          "[property][cli]") {
  std::mt19937_64 random(20260501);
  const std::vector<std::string> names = engines();
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    const Triple s{load_model(pick(builtin_models(), random)), load_hardware(pick(builtin_hardware(), random)),
                   names[random() % names.size()]};
    CAPTURE(s.model.name, s.hardware.name, s.engine);
    accepted += compare(s);
  }
  CHECK(accepted > 500);
}

TEST_CASE("infer, memory, fit and serve agree on every model's capacity on twelve devices with every engine",
          "[property][cli][every]") {
  for (const Builtin& model : builtin_models())
    for (const char* hardware : {"a100", "h100", "h200", "b200", "l40s", "rtx-3060", "rtx-4090", "rtx-5090", "mi300x",
                                 "m4-max", "tpu-v5e", "gaudi-3"})
      for (const std::string& engine : engines()) {
        CAPTURE(model.name, hardware, engine);
        compare({load_model(model.name), load_hardware(hardware), engine});
      }
}
