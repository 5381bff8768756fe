// 'llmcalc calibrate' without its one-minute measurements: checks before, signals during, and evaluation after them.

#include <csignal>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/sentence.hpp"
#include "validate/calibrate.hpp"

using namespace llmcalc;

namespace {

std::string path(const std::string& name) { return test::scratch() + "/" + name; }

/// A short version of a file that calibrate writes.
const std::string calibration =
    R"({"name": "here", "memory": {"capacity": "8 GiB", "bandwidth": "20 GB/s"}, "matmul": {"fp32": "100 GFLOP/s"},
        "achieved": {"matmul": 0.9, "how": "llmcalc calibrate on a processor, 2 threads, 2026-01-01"},
        "source": "measured"})";

/// Measurements of an idle machine.
validate::Calibration quiet() {
  validate::Calibration c;
  c.copy = BytesPerSecond(26e9);
  c.cache_bandwidth = BytesPerSecond(58e9);
  c.cache = Bytes(Count{64} << 20);
  c.functions = 6e9;
  const CoreRates core{FlopsPerSecond(50e9), FlopsPerSecond(53e9)};
  c.formats.push_back({.format = dtypes::fp32,
                       .matmuls = {{{256, 768, 768}, FlopsPerSecond(320e9)}},
                       .half_matmul = 2e6,
                       .exposed = 0.4,
                       .flash = core,
                       .naive = core,
                       .plain = {}});
  return c;
}

/// Checks that calibrate refuses before it measures, and leaves the file unchanged.
void keeps(const std::string& name, const std::string& text) {
  test::write_file(path(name), text);
  const test::Ran r = test::llmcalc("calibrate --out " + path(name));
  CHECK(r.err ==
        "llmcalc: '" + path(name) +
            "' exists and is not a hardware file written by llmcalc; pass another --out, or --force to replace it\n");
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(test::read_file(path(name)) == text);
}

}  // namespace

TEST_CASE("calibrate refuses to overwrite other files before it measures", "[calibrate]") {
  keeps("victim.txt", "dear diary");
  keeps("model.json", test::read_file(LLMCALC_SOURCE_DIR "/docs/examples/tiny-llama.json"));
  keeps("datasheet.json", test::read_file(LLMCALC_SOURCE_DIR "/presets/hardware/h100-sxm-80gb.json"));
}

TEST_CASE("calibrate does not measure if it cannot write its file", "[calibrate]") {
  const test::Ran nowhere = test::llmcalc("calibrate --out /nowhere/x.json");
  CHECK(nowhere.code == 2);
  CHECK(nowhere.err ==
        "llmcalc: cannot write '/nowhere/x.json': cannot create a file in its folder: No such file or "
        "directory; the file is unchanged\n");
  const test::Ran folder = test::llmcalc("calibrate --out " + test::scratch());
  CHECK(folder.code == 2);
  CHECK(folder.err == "llmcalc: cannot write '" + test::scratch() + "': it is a folder; pass a file name\n");
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

TEST_CASE("calibrate shows within seconds what it measures, and a signal ends it immediately", "[calibrate]") {
  const test::Ran r =
      test::signaled("calibrate --out " + path("term.json"), {SIGTERM}, std::chrono::milliseconds(2500));
  CHECK(r.code == 128 + SIGTERM);
  CHECK(r.err.starts_with("0:01  round 1 of 5: "));
  CHECK(r.err.ends_with("stopped\n"));
  CHECK(r.seconds_to_end < 2);
  CHECK_FALSE(std::filesystem::exists(path("term.json.tmp")));
}

TEST_CASE("calibrate reports the median over rounds, with their interquartile range as the spread", "[calibrate]") {
  std::vector<validate::Calibration> all(5, quiet());
  const std::array<double, 5> copies{20e9, 10e9, 24e9, 21e9, 99e9};  // sorted: 10, 20, 21, 24, 99
  for (std::size_t i = 0; i < all.size(); ++i) all[i].copy = BytesPerSecond(copies[i]);
  all[0].cache = all[1].cache = Bytes(1);
  const validate::Calibration c = validate::median_of(all);
  CHECK(c.copy.value == 21e9);
  CHECK(c.spread_of("copy_bytes_per_s") == Approx((24.0 - 20) / 21));
  CHECK(c.spread_of("functions_per_s") == 0);
  CHECK(c.spread_of("matmul_fp32_256x768x768") == 0);
  CHECK(c.cache == Bytes(Count{64} << 20));
}

TEST_CASE("the error for contradictory measurements names a remedy", "[calibrate]") {
  const auto refused = [](const validate::Calibration& c) { return test::sentence([&] { refuse_contradictions(c); }); };
  const auto says = [](const std::string& what) {
    return "inconsistent measurements: " + what + "; close other programs and rerun 'llmcalc calibrate'";
  };
  CHECK_NOTHROW(validate::refuse_contradictions(quiet()));
  validate::Calibration c = quiet();
  c.cache_bandwidth = BytesPerSecond(1.05e9);
  CHECK(refused(c) == says("in-cache additions at 1.05 GB/s are slower than memory copies at 26 GB/s"));
  c = quiet();
  c.formats[0].exposed = 117;
  CHECK(refused(c) == says("the non-overlapped part of a matmul in fp32 takes 117 times its memory time"));
  c = quiet();
  c.formats[0].flash.forward = FlopsPerSecond(500e9);
  CHECK(refused(c) == says("attention in fp32 at 500 GFLOP/s is faster than the fastest matmul at 320 GFLOP/s"));
  c = quiet();
  c.formats[0].matmuls[0].rate = FlopsPerSecond(-1);
  CHECK(refused(c) == says("matmul_fp32_256x768x768 is -1, but must be positive"));
  c = quiet();
  c.spread["functions_per_s"] = 0.6;
  CHECK(refused(c) == says("functions_per_s varies by 60 % between rounds, more than the 25 % allowed"));
  c = quiet();
  c.spread["half_matmul_fp32"] = 0.6;  // a difference between two times
  CHECK_NOTHROW(validate::refuse_contradictions(c));
}
