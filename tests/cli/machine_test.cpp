// Detection of this machine, and the commands that use it.

#include <filesystem>

#include "cli/machine/here.hpp"
#include "cli/machine/machine.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

namespace fs = std::filesystem;

/// A folder with the files that Linux has for an AMD GPU, a processor and memory.
fs::path machine_files() {
  const fs::path root = fs::path(test::scratch()) / "machine";
  fs::create_directories(root / "proc");
  fs::create_directories(root / "sys/class/drm/card0/device");
  fs::create_directories(root / "sys/class/drm/card0-DP-1");
  test::write_file(
      root / "proc/cpuinfo",
      "processor\t: 0\nmodel name\t: AMD EPYC 7763 64-Core Processor\nprocessor\t: 1\nmodel name\t: AMD EPYC "
      "7763 64-Core Processor\n");
  test::write_file(root / "proc/meminfo", "MemTotal:       65536000 kB\nMemFree:        1 kB\n");
  test::write_file(root / "sys/class/drm/card0/device/mem_info_vram_total", "25753026560\n");
  test::write_file(root / "sys/class/drm/card0/device/product_name", "Radeon RX 7900 XTX\n");
  return root;
}

}  // namespace

TEST_CASE("a machine's GPU, processor and memory are read from the system's files", "[machine]") {
  const Machine m = read_machine(machine_files());
  REQUIRE(m.gpus.size() == 1);
  CHECK(m.gpus[0].name == "Radeon RX 7900 XTX");
  CHECK(m.gpus[0].memory == Bytes(25753026560));
  CHECK(m.processor == "AMD EPYC 7763 64-Core Processor");
  CHECK(m.threads == 2);
  CHECK(m.memory == Bytes(65536000 * Count{1024}));
  CHECK(preset_here(m) == "rx-7900-xtx");
}

TEST_CASE("names reported by drivers resolve to presets with the same memory", "[machine]") {
  const auto preset = [](const char* name, Count gibibytes) {
    return preset_here(Machine{.gpus = {{name, Bytes(gibibytes << 30)}}}).value_or("none");
  };
  CHECK(preset("NVIDIA GeForce RTX 4090", 24) == "rtx-4090");
  CHECK(preset("NVIDIA H100 80GB HBM3", 80) == "h100-sxm-80gb");
  CHECK(preset("NVIDIA A100-SXM4-80GB", 80) == "a100-sxm-80gb");
  CHECK(preset("Tesla V100-SXM2-16GB", 16) == "v100-sxm2-16gb");
  CHECK(preset("NVIDIA GeForce RTX 4090", 48) == "none");
  CHECK(preset("NVIDIA Future 9000", 24) == "none");
  CHECK(preset_here(Machine{.processor = "AMD EPYC 7763 64-Core Processor"}) == "amd-epyc-7763");
  CHECK_FALSE(preset_here(Machine{}).has_value());
}

TEST_CASE("the greeting names the machine and five commands that run", "[machine][cli]") {
  const test::Ran ran = test::llmcalc("");
  CHECK(ran.code == 0);
  CHECK_THAT(ran.out, Catch::Contains("this machine: "));
  CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') <= 24);
  const std::string text = greeting(Machine{.gpus = {{"NVIDIA GeForce RTX 4090", Bytes(Count{24} << 30)}}});
  CHECK_THAT(text, Catch::Contains("preset: rtx-4090") && Catch::Contains("--hardware rtx-4090"));
}

TEST_CASE("'list hardware --here' shows the machine in text and in JSON", "[machine][cli]") {
  const json::Value v = test::ask("list hardware --here");
  CHECK(v["machine"]["threads"].get<Count>() > 0);
  CHECK(v["machine"]["memory_bytes"].get<Count>() > 0);
  const test::Ran wrong = test::llmcalc("list models --here");
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, Catch::Contains("--here applies only to 'llmcalc list hardware'"));
}
