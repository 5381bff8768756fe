// Hardware counters without hardware: CUPTI's chip descriptions need no driver, and a stand-in reports the calls that
// it receives.

#include "model/cuda/instruments/counters.hpp"
#include "model/cuda/shared_library.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model::cuda;

namespace {

/// Whether CUPTI is available; warns if it is not.
bool cupti_is_here() {
  if (!cupti_version().empty()) return true;
  WARN("CUPTI is not here: its counters' names are not checked");
  return false;
}

std::string refusal(const std::string& chip, const std::vector<const char*>& names) {
  try {
    passes(chip, names);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "nothing was rejected";
}

#ifdef LLMCALC_CUPTI_STANDIN

/// The CUPTI stand-in and its report of calls.
struct StandIn {
  std::vector<std::string> names{LLMCALC_CUPTI_STANDIN};
  SharedLibrary library{names};
  std::string calls() { return library.find<const char*()>("cupti_calls")(); }
  void refuse(const char* call, int how = 0) { library.find<void(const char*, int)>("cupti_refuse")(call, how); }
  Counters counters() { return Counters(true, names, names.front()); }
  std::string missing(const char* call, int how) {
    refuse(call, how);
    const std::string why = counters().missing();
    refuse("");
    return why;
  }
  ~StandIn() { refuse(""), calls(); }
};

#endif

}  // namespace

#ifdef LLMCALC_CUPTI_STANDIN

TEST_CASE("counter sessions call CUPTI in the required order", "[counters]") {
  StandIn cupti;
  {
    Counters c = cupti.counters();
    REQUIRE(c.missing().empty());
    CHECK(cupti.calls() ==
          "initialize supported availability availability chip host metrics image-size image host-end "
          "host metrics image-size image ");
    for (int session = 0; session < 2; ++session) {
      c.start();
      for (const char* range : {"forward", "backward"}) {
        c.begin(range);
        c.end();
      }
      const std::vector<model::RangeCount> counted = c.stop();
      CHECK(cupti.calls() ==
            "enable data-size data config start push pop push pop stop decode info name values name values disable ");
      REQUIRE(counted.size() == 2);
      CHECK(counted[1].range == "backward");
      CHECK(counted[1].tensor_flops == 1000);
      CHECK(counted[1].time.value == Approx(1001e-9));
      CHECK(counted[1].read == 1002);
      CHECK(counted[1].written == 1003);
    }
  }
  CHECK(cupti.calls() == "host-end ");
}

TEST_CASE("every CUPTI error is reported with a message", "[counters]") {
  constexpr int invalid_operation = 7, virtual_device = 33, not_permitted = 35;
  StandIn cupti;
  CHECK(cupti.missing("availability", not_permitted).find("reading hardware counters is not permitted") == 0);
  CHECK(cupti.missing("supported", virtual_device) == "the device is virtual and does not expose counters");
  CHECK(cupti.missing("vgpu", 0) == "the device is virtual and its host does not permit reading counters");
  CHECK(cupti.missing("chip", invalid_operation) == "CUPTI error while querying the chip name: error 7");
  CHECK(cupti.missing("passes", 0).find("needs several passes to count tensor-core FLOPs") != std::string::npos);
}

TEST_CASE("a failed session is ended before the next one starts", "[counters]") {
  constexpr int not_permitted = 35;
  StandIn cupti;
  Counters c = cupti.counters();
  cupti.refuse("start", not_permitted);
  CHECK_THROWS_WITH(c.start(), Catch::Contains("not permitted"));
  cupti.refuse("ranges");
  cupti.calls();
  c.start();
  c.begin("step");
  c.end();
  CHECK(cupti.calls().find("disable enable ") == 0);
  CHECK_THROWS_WITH(c.stop(), Catch::Contains("did not count every range"));
}

#endif

TEST_CASE("on every chip, counters of FLOPs, time and any supported bytes fit into one pass", "[counters]") {
  if (!cupti_is_here()) return;
  const auto choice = [](const std::string& chip, bool bf16) {
    const std::vector<const char*> names = metrics_of(chip, bf16);
    CHECK(passes(chip, names) == 1);
    return names.size() == 2 ? "none" : names[2];
  };
  for (const char* chip : {"GA100", "GA102", "AD102", "GH100", "GB100"}) {
    INFO(chip);
    CHECK(choice(chip, true) == std::string("dram__bytes_read.sum"));
  }
  for (const char* chip : {"GB202", "GB203", "GB205"}) {
    INFO(chip);
    CHECK(choice(chip, true) == std::string("dram__bytes_op_read.sum"));
  }
  CHECK(choice("GB10B", true) == std::string("none"));
  CHECK(choice("GH100", false) == std::string("dram__bytes_read.sum"));
  CHECK_THROWS_WITH(metrics_of("GB100", false), Catch::Contains("several passes"));  // its TF32 FLOPs take two passes
}

TEST_CASE("on Hopper, tensor core counters of two formats do not fit into one pass", "[counters]") {
  if (!cupti_is_here()) return;
  std::vector<const char*> both = metrics_of("GH100", true);
  both.push_back(metrics_of("GH100", false).front());
  CHECK(passes("GH100", both) == 2);
}

TEST_CASE("the error for an unknown chip or metric names it", "[counters]") {
  if (!cupti_is_here()) return;
  CHECK(refusal("GX999", metric_choices(true).front()) ==
        "CUPTI error while finding the counters of chip GX999: CUPTI_ERROR_INVALID_CHIP_NAME");
  CHECK_THROWS_WITH(metrics_of("GX999", true), Catch::Contains("GX999"));
  CHECK(refusal("GH100", {"dram__bytes_read.sum", "sm__nonsense.sum"}).find("finding sm__nonsense.sum on chip GH100") !=
        std::string::npos);
}

TEST_CASE("without CUPTI or a GPU, the reason why counters are missing is reported", "[counters]") {
  const Counters none(true, {"/nowhere/libcupti.so"});
  if (cupti_is_here()) {
    CHECK(none.missing().find("NVIDIA's profiling library CUPTI was not found (/nowhere/libcupti.so") == 0);
    CHECK(Counters(true, cupti_names(), "/nowhere/libcuda.so.1").missing() ==
          "no GPU context is available to read counters from");
  } else {
    CHECK_FALSE(none.missing().empty());
  }
}
