// Printed limits are exact: the limit fits and one more does not, for every preset on every size of device.

#include <set>

#include "calc/infer.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// One device per memory size and measured overhead, since only these determine the limits.
std::vector<Device> devices_by_memory() {
  std::vector<Device> all;
  std::set<std::pair<Count, Count>> seen;
  for (const Builtin& b : builtin_hardware()) {
    const Device d = load_hardware(std::string(b.name)).cluster.device;
    if (seen.emplace(d.memory.value, d.achieved.overhead.value).second) all.push_back(d);
  }
  return all;
}

bool fits(const Arch& a, const Plan& p, const Device& d) {
  const Bytes peak = inference_memory(a, p, {}, d.achieved.overhead).peak;
  return static_cast<double>(peak.value) <= p.memory_utilization * static_cast<double>(d.memory.value);
}

}  // namespace

TEST_CASE("every model's largest batch and longest context fit on every device, and one more does not",
          "[contract][presets]") {
  const std::vector<Device> devices = devices_by_memory();
  CHECK(devices.size() > 20);
  Count limited = 0;
  for (const Builtin& b : builtin_models()) {
    const Arch a = load_model(std::string(b.name)).arch;
    const bool learned = a.position == Position::learned;
    Plan p{.batch = 2, .prompt = learned ? a.position_rows / 2 : 1800, .generate = 200, .memory_utilization = 0.9};
    for (const Device& d : devices) {
      CAPTURE(std::string(b.name), d.memory.value);
      const Limits l = limits(a, p, {}, d);
      REQUIRE(l.max_batch);
      REQUIRE(l.max_context);
      if (*l.max_batch > 0) CHECK(fits(a, with_batch(p, *l.max_batch), d));
      CHECK_FALSE(fits(a, with_batch(p, *l.max_batch + 1), d));
      if (*l.max_context > 0) CHECK(fits(a, with_context(p, *l.max_context), d));
      if (learned && *l.max_context == a.position_rows) continue;
      CHECK_FALSE(fits(a, with_context(p, *l.max_context + 1), d));
      limited += *l.max_batch > 0;
    }
  }
  CHECK(limited > 1000);
}
