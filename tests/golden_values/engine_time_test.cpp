// Golden times of passes, computed from the engine's operators.

#include "calc/infer.hpp"
#include "tests/golden_values/engine.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A device with the bandwidth and peak of n golden devices.
Device machine(const json::Object& in) {
  Device d;
  const double n = golden::real(in, "n_devices");
  d.bandwidth = BytesPerSecond(n * golden::real(in, "bandwidth"));
  d.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(n * golden::real(in, "peak"));
  return d;
}

Cluster cluster(const Device& d) {
  Cluster c;
  c.device = d;
  return c;
}

}  // namespace

TEST_CASE("pass times under the step roofline match the golden values", "[golden]") {
  CHECK(each_case("decode_step_time", [](const json::Object& in, const std::string& value) {
          REQUIRE((in.count("weight_bytes") == 2 && in.count("kv_bytes") == 2));
          Plan p;
          p.roofline = Roofline::step;
          p.batch = in.count("batch");
          p.efficiency = golden::real(in, "flops_efficiency");
          p.memory_efficiency = golden::real(in, "bw_efficiency");
          const Time t = decode(model(in), p, {}, cluster(machine(in)), in.count("context")).estimate;
          close(t.total().value + golden::real(in, "comm_seconds"), value);
        }) == 3);
  CHECK(each_case("prefill_time", [](const json::Object& in, const std::string& value) {
          REQUIRE((in.text("attention") == "causal_exact" && in.text("lm_head") == "last"));
          Plan p;
          p.roofline = Roofline::step;
          p.batch = in.count("batch");
          p.efficiency = golden::real(in, "flops_efficiency");
          close(prefill(model(in), p, {}, cluster(machine(in)), in.count("seq")).estimate.total().value, value);
        }) == 1);
}
