// Hardware counters, as far as they go without hardware: CUPTI's description of chips needs no driver.

#include "model/cuda/counters.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model::cuda;

namespace {

/// A sentence that says so where there is no CUPTI, and then there is nothing to test.
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
  return "nothing was refused";
}

}  // namespace

TEST_CASE("what is counted exists on Ampere and Hopper chips and fits one pass", "[counters]") {
  if (!cupti_is_here()) return;
  for (const char* chip : {"GA100", "GH100"})
    for (const bool bf16 : {true, false}) {
      INFO(chip << (bf16 ? ", bfloat16" : ", float32"));
      CHECK(passes(chip, metrics(bf16)) == 1);
    }
}

TEST_CASE("tensor cores of two formats do not fit one pass on Hopper", "[counters]") {
  if (!cupti_is_here()) return;
  std::vector<const char*> both = metrics(true);
  both.push_back(metrics(false).front());
  CHECK(passes("GH100", both) == 2);
}

TEST_CASE("a chip or a metric that CUPTI does not know is named", "[counters]") {
  if (!cupti_is_here()) return;
  CHECK(refusal("GX999", metrics(true)) ==
        "CUPTI failed looking for the counters of chip GX999: CUPTI_ERROR_INVALID_CHIP_NAME");
  CHECK(refusal("GH100", {"dram__bytes_read.sum", "sm__nonsense.sum"})
            .find("looking for sm__nonsense.sum on chip GH100") != std::string::npos);
}

TEST_CASE("without CUPTI or without a GPU counters say why they do not count", "[counters]") {
  const Counters none(true, {"/nowhere/libcupti.so"});
  if (cupti_is_here()) {
    CHECK(none.missing().find("NVIDIA's profiling library CUPTI is not here (/nowhere/libcupti.so") == 0);
    CHECK(Counters(true).missing() == "there is no GPU's context whose counters could be read");
  } else {
    CHECK_FALSE(none.missing().empty());
  }
}
