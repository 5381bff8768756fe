// What calibrate does before and around its measurements, which take a minute.

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

std::string path(const std::string& name) { return test::scratch() + "/" + name; }

/// As calibrate writes it, in short.
const std::string calibration =
    R"({"name": "here", "memory": {"capacity": "8 GiB", "bandwidth": "20 GB/s"}, "matmul": {"fp32": "100 GFLOP/s"},
        "achieved": {"matmul": 0.9, "how": "llmcalc calibrate on a processor, 2 threads, 2026-01-01"},
        "source": "measured"})";

/// Nothing is measured, and what is there stays.
void keeps(const std::string& name, const std::string& text) {
  test::write_file(path(name), text);
  const test::Ran r = test::llmcalc("calibrate --out " + path(name));
  CHECK(r.err == "llmcalc: '" + path(name) +
                     "' is there and no hardware file of 'llmcalc calibrate'; it is not written over, give another "
                     "--out\n");
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(test::read_file(path(name)) == text);
}

}  // namespace

TEST_CASE("calibrate refuses to overwrite other files before it measures", "[calibrate]") {
  keeps("victim.txt", "dear diary");
  keeps("empty.json", "");
  keeps("model.json", test::read_file(LLMCALC_SOURCE_DIR "/docs/examples/tiny-llama.json"));
  keeps("datasheet.json", test::read_file(LLMCALC_SOURCE_DIR "/presets/hardware/h100-sxm-80gb.json"));
}

TEST_CASE("calibrate measures nothing if it cannot write its file", "[calibrate]") {
  const test::Ran nowhere = test::llmcalc("calibrate --out /nowhere/x.json");
  CHECK(nowhere.code == 2);
  CHECK(nowhere.err.starts_with("llmcalc: cannot open '/nowhere/x.json.tmp': "));
  const test::Ran folder = test::llmcalc("calibrate --out " + test::scratch());
  CHECK(folder.code == 2);
  CHECK(folder.err == "llmcalc: cannot write '" + test::scratch() + "': it is a folder; name a file\n");
}

TEST_CASE("Ctrl-C ends calibrate with a message and exit code 130, and leaves files unchanged", "[calibrate]") {
  const test::Ran fresh = test::interrupted("calibrate --out " + path("fresh.json"));
  CHECK(fresh.code == 130);
  CHECK(fresh.out.empty());
  CHECK_THAT(fresh.err, Catch::EndsWith("stopped\n") && !Catch::Contains("small tensors"));
  CHECK_FALSE(std::filesystem::exists(path("fresh.json")));
  CHECK_FALSE(std::filesystem::exists(path("fresh.json.tmp")));

  test::write_file(path("earlier.json"), calibration);
  CHECK(test::interrupted("calibrate --out " + path("earlier.json")).code == 130);
  CHECK(test::read_file(path("earlier.json")) == calibration);
}
