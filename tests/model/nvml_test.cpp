// NVML's board information, read from a stand-in for the driver's library.

#include "model/cuda/instruments/nvml.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using model::cuda::Nvml;

namespace {

constexpr const char* address = "0000:1b:00.0";
constexpr const char* nothing = "/nowhere/libnvidia-ml.so.1";

}  // namespace

TEST_CASE("a board's clocks, power and memory are read in Hz, W and bytes", "[nvml]") {
  const Nvml nvml(address, LLMCALC_NVML_FULL);
  REQUIRE(nvml.missing().empty());
  const model::Board b = nvml.board();
  CHECK(b.name == "NVIDIA H200");
  CHECK(b.driver == "580.65.06");
  CHECK(b.sm_clock == 1755e6);
  CHECK(b.sm_clock_max == 1980e6);
  CHECK(b.memory_clock == 3201e6);
  CHECK(b.memory_clock_max == 3202e6);
  CHECK(b.watts.value_or(0) == Approx(612.345));
  CHECK(b.watts_limit.value_or(0) == Approx(700));
  CHECK(b.celsius == 41);
  CHECK(b.throttled == std::vector<std::string>{"power cap", "software thermal slowdown"});
  CHECK(b.reserved == Bytes(618659840));
  CHECK(b.other_processes == 2);  // three minus this one
  CHECK(nvml.used() == Bytes(136160256));
}

TEST_CASE("values that a board does not report are absent, not 0", "[nvml]") {
  const model::Board b = Nvml(address, LLMCALC_NVML_POOR).board();
  CHECK(b.name == "NVIDIA H200");
  CHECK_FALSE(b.driver);
  CHECK_FALSE(b.sm_clock);
  CHECK_FALSE(b.watts);
  CHECK_FALSE(b.watts_limit);
  CHECK_FALSE(b.celsius);
  CHECK_FALSE(b.reserved);
  CHECK_FALSE(b.other_processes);
  CHECK(b.throttled == std::vector<std::string>{"power cap", "reason 0x400"});  // through the function's older name
}

TEST_CASE("a missing NVML or board is reported with a message, and all values are absent", "[nvml]") {
  const Nvml none(address, nothing), elsewhere("0000:00:00.0", LLMCALC_NVML_FULL);
  CHECK(none.missing().find("the driver's management library (NVML) was not found (/nowhere/libnvidia-ml.so.1") == 0);
  CHECK(elsewhere.missing() == "the driver's management library (NVML) does not find the board at 0000:00:00.0");
  for (const Nvml* nvml : {&none, &elsewhere}) {
    CHECK_FALSE(nvml->board().name);
    CHECK_FALSE(nvml->board().throttled);
    CHECK_FALSE(nvml->joules());
    CHECK_FALSE(nvml->used());
  }
}

TEST_CASE("energy is the difference of two counter readings", "[nvml]") {
  const Nvml nvml(address, LLMCALC_NVML_FULL);
  model::cuda::EnergyMeter meter(nvml);
  meter.start();
  const auto used = meter.stop();
  REQUIRE(used);
  CHECK(used->joules == 500);
  CHECK(used->watts() == Approx(500 / used->time.value));
}

TEST_CASE("a board without an energy counter reports no energy", "[nvml]") {
  for (const char* const library : {LLMCALC_NVML_POOR, nothing}) {
    const Nvml nvml(address, library);
    model::cuda::EnergyMeter meter(nvml);
    meter.start();
    CHECK_FALSE(meter.stop());
  }
}
