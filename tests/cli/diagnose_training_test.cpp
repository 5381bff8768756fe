// 'llmcalc diagnose' of training logs: peaks of the fullest rank, in each software's units.

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

const std::string training_logs = "tests/cli/logs/";

json::Value of_training(const std::string& arguments) { return test::ask("diagnose " + training_logs + arguments); }

Count term_bytes(const json::Value& report, const std::string& term) {
  for (const json::Value& row : report["booking"])
    if (row["term"] == term && row.contains("bytes") && !row.contains("part_of")) return row["bytes"];
  FAIL(term << " is not in " << report["booking"].dump(1));
  return 0;
}

std::string training_log(const std::string& text) {
  const std::string path = test::scratch() + "/training.log";
  test::write_file(path, text);
  return path;
}

void rejects(const std::string& arguments, const std::string& says) {
  const test::Ran r = test::llmcalc("diagnose " + arguments);
  INFO(r.err);
  CHECK(r.code == 2);
  CHECK_THAT(r.err, Contains(says));
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
}

}  // namespace

// github.com/bigscience-workshop/bigscience, experiments/gpt2-meg: two reports share a line
TEST_CASE("Megatron-LM's fullest rank is reported, and its units are 2^20 bytes", "[diagnose][cli]") {
  const json::Value report = of_training("megatron.log");
  CHECK(report["diagnosis"]["kind"] == "training_memory");
  CHECK(report["diagnosis"]["software"] == "megatron-lm");
  CHECK(report["diagnosis"]["ranks"] == 4);
  CHECK(report["diagnosis"]["rank"] == 3);
  const Count allocated = (Count{26204} << 20) + 586752, reserved = Count{30724} << 20;  // 0.5595703125 MiB
  CHECK(term_bytes(report, "allocated") == allocated);
  CHECK(term_bytes(report, "slack") == reserved - allocated);
  CHECK(term_bytes(report, "granted") == reserved);
  CHECK(report["diagnosis"]["current_allocated_bytes"] == (Count{23215} << 20) + 90112);
  const json::Value planned = of_training("megatron.log gpt2 --micro-batch 2");
  CHECK(planned["inputs"]["software"] == "megatron-lm");
  CHECK_THAT(planned["verdict"]["text"].dump(), Contains("allocated") && Contains("predicted"));
}

TEST_CASE("Megatron-Bridge logs measured memory in 10^9 bytes and its formula's result in 2^20 bytes",
          "[diagnose][cli]") {
  const json::Value report = of_training("megatron-bridge.log");
  CHECK(report["diagnosis"]["software"] == "nemo");
  CHECK(term_bytes(report, "allocated") == 194410000000);
  CHECK(term_bytes(report, "granted") == 216890000000);
  CHECK(report["diagnosis"]["theoretical_weights_and_optimizer_bytes"] == std::llround(57438.81 * 0x1p20));
}

// github.com/NVIDIA-NeMo/Speech/issues/14850
TEST_CASE("memory in NeMo logs is in bytes", "[diagnose][cli]") {
  const json::Value report =
      test::ask("diagnose " +
                training_log("0: Training epoch 0, iteration 8/29 | lr: 5.389e-06 | global_step: 8 | "
                             "max_memory_reserved: 57466159104 | max_memory_allocated: 53930270720 | loss: 10.2\n"));
  CHECK(report["diagnosis"]["software"] == "nemo");
  CHECK(term_bytes(report, "allocated") == 53930270720);
  CHECK(term_bytes(report, "granted") == 57466159104);
}

// github.com/bigscience-workshop/bigscience, experiments/gpt2-hf-ds: the peak of reserved memory is rounded to 2^30
TEST_CASE("DeepSpeed's peak is the maximum of all its reports", "[diagnose][cli]") {
  const json::Value report = of_training("deepspeed.log");
  CHECK(report["diagnosis"]["software"] == "deepspeed");
  CHECK(term_bytes(report, "allocated") == std::llround(4.09 * 0x1p30));
  CHECK(term_bytes(report, "granted") == std::llround(6.92 * 0x1p30));
  CHECK(report["diagnosis"]["reports"] == 3);
  const std::string version = "[INFO] [logging.py:68] [Rank 0] DeepSpeed info: version=0.16.4, git-hash=x\n";
  const std::string excerpt = test::read_file(LLMCALC_SOURCE_DIR "/" + training_logs + "deepspeed.log");
  CHECK(test::ask("diagnose " + training_log(version + excerpt))["diagnosis"]["version"] == "0.16.4");
}

// github.com/pytorch/torchtune, e2e_flow.rst; github.com/pytorch/torchtitan/pull/2389
TEST_CASE("memory peaks are read from torchtune and torchtitan logs", "[diagnose][cli]") {
  const json::Value tune = of_training("torchtune.log");
  CHECK(tune["diagnosis"]["software"] == "torchtune");
  CHECK(term_bytes(tune, "allocated") == std::llround(6.21 * 0x1p30));
  CHECK(term_bytes(tune, "granted") == std::llround(6.27 * 0x1p30));
  const json::Value titan = of_training("torchtitan.log --hardware b200");
  CHECK(titan["diagnosis"]["software"] == "torchtitan");
  CHECK(term_bytes(titan, "reserved") == std::llround(176.38 * 0x1p30));
  CHECK(titan["diagnosis"]["retries"] == 2);
}

TEST_CASE("contradictory training reports are rejected with a one-sentence error", "[diagnose][cli]") {
  const std::string report = "[Rank 7] (after 20 iterations) memory (MB) | allocated: ";
  rejects(training_log(report + "900.0 | max allocated: 800.0 | reserved: 1000.0 | max reserved: 1000.0\n"),
          "0.88 GiB allocated is more than 0.78 GiB at the peak; pass the unmodified Megatron-LM log");
  rejects(training_log(report + "700.0 | max allocated: 800.0 | reserved: 600.0 | max reserved: 600.0\n"),
          "0.78 GiB allocated is more than 0.59 GiB reserved");
  rejects(training_log("[titan] CUDA capacity: Tesla T4 with 14.56GiB memory\n[titan] - INFO - step:  1  loss: 12.6  "
                       "memory: 20.00GiB(94.55%)  tps: 2\n"),
          "20.00 GiB reserved is more than 14.56 GiB of the device");
  rejects(training_log(report + "700.0 | max alloc"), "no report of memory use found");
  rejects(training_logs + "megatron.log gpt2 --infer", "the log comes from a training run");
}
