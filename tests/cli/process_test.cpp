/// Memory of a training process in addition to its tensors, in reports.

#include <fmt/format.h>

#include "evidence/trained_process.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

const std::string laid_out = "llama-3.1-8b --hardware h100 --gpus 16 --tp 4 --sp --pp 2 --zero 1 --global-batch 32 ";

json::Value memory_of(const std::string& command) { return test::ask(command)["memory"]; }

Count sum_of_terms(const json::Value& process) {
  Count sum = 0;
  for (const char* key : {"tensors_bytes", "loss_bytes", "weight_gradients_bytes", "update_bytes", "buckets_bytes",
                          "workspaces_bytes", "process_bytes"})
    sum += process.value(key, Count{0});
  return sum;
}

}  // namespace

TEST_CASE("the memory that a process needs is the sum of its terms, and slack is added separately", "[process]") {
  for (const char* software : {"megatron-lm", "megatron-lm-legacy", "torchtitan", "megatron-deepspeed", "torch-fsdp"}) {
    INFO(software);
    const json::Value m = memory_of("train " + laid_out + "--any-software --software " + software), p = m["process"];
    CHECK(p["software"] == software);
    CHECK(p["needed_bytes"] == sum_of_terms(p));
    CHECK(p["total_bytes"] == sum_of_terms(p) + p["slack_bytes"].get<Count>());
    CHECK(p["process_bytes"] == 3'000'000'000);  // presets/estimates/memory.json
    const double w = memory_estimate().interval(MemoryClass::process).factor;
    CHECK(p["needed_high_bytes"].get<double>() == Approx(w * p["needed_bytes"].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("vocabulary padding raises the tensor peak, and known storage formats lower the process memory",
          "[process]") {
  const json::Value engine = memory_of("train " + laid_out + "--software megatron-lm"),
                    plain = memory_of("train " + laid_out + "--software torch-fsdp --any-software"),
                    titan = memory_of("train llama-3.1-8b --hardware h100 --gpus 8 --fsdp --software torchtitan");
  // Megatron-LM pads 128,256 rows to a multiple of 128 x 4: 64 more per rank, at 2 + 4 + 12 / 2 bytes per element.
  CHECK(engine["peak_bytes"].get<Count>() - plain["peak_bytes"].get<Count>() == 64 * 4096 * (2 + 4 + 6));
  CHECK(plain["process"]["tensors_bytes"] == plain["peak_bytes"]);   // other software has no known storage format
  CHECK(engine["process"]["tensors_bytes"] < engine["peak_bytes"]);  // gate x up is not saved, logits are in 16 bits
  // FSDP2 shards float32 weights and needs no other copy.
  CHECK(titan["process"]["tensors_bytes"] < titan["peak_bytes"]);
  // An explicit option applies with any software.
  const json::Value stated =
      memory_of("train " + laid_out + "--software megatron-lm --glu-store recompute --logits bf16+grad");
  CHECK(stated["process"]["tensors_bytes"] == stated["peak_bytes"]);
}

TEST_CASE("process memory is reported for every stage, and the summary shows the fullest stage", "[process]") {
  const json::Value report = test::ask("train " + laid_out);
  Count most = 0;
  for (const json::Value& stage : report["stages"])
    most = std::max(most, stage["process"]["needed_bytes"].get<Count>() + stage["process"]["slack_bytes"].get<Count>());
  CHECK(report["stages"].size() == 2);
  CHECK(report["memory"]["process"]["total_bytes"] == most);
  CHECK(memory_of("memory " + laid_out.substr(0, laid_out.find("--gpus")) +
                  "--train --tp 4 --sp --pp 2 --dp 2 --zero 1 "
                  "--global-batch 32 --software megatron-lm")["process"] == report["memory"]["process"]);
}

TEST_CASE("a plan with unknown software or an unknown device has no process estimate", "[process]") {
  CHECK_FALSE(memory_of("train gpt2 --hardware h100 --software maxtext").contains("process"));
  CHECK_FALSE(memory_of("train gpt2 --hardware mi300x").contains("process"));
  CHECK_FALSE(memory_of("memory gpt2 --train").contains("process"));
  CHECK(memory_of("memory gpt2 --train --hardware h100")["process"]["software"] == "torch-fsdp");
}

TEST_CASE("a measured process overhead replaces the fitted one", "[process]") {
  json::Value file = json::parse(test::read_file(LLMCALC_SOURCE_DIR "/presets/hardware/h100-sxm-80gb.json"), "h100");
  file["name"] = "mine";
  file.erase("aliases");
  file["achieved"] = {{"overhead", "600 MiB"}, {"how", "measured"}};
  test::write_file(test::scratch() + "/overhead.json", file.dump());
  const json::Value m = memory_of("train gpt2 --hardware " + test::scratch() + "/overhead.json");
  CHECK(m["process"]["process_bytes"] == Count{600} << 20);
  CHECK(m["process"]["tensors_bytes"].get<Count>() + (Count{600} << 20) == m["peak_bytes"].get<Count>());
}

TEST_CASE("a note warns if a plan's tensors fit but not its process, and --memory-utilization leaves headroom",
          "[process][plan]") {
  const std::string plan =
      "plan train llama-3.1-70b --hardware h100 --gpus 64 --global-batch 64 --top 1 --software nemo ";
  const test::Ran tight = test::llmcalc(plan + "--pp 8 --schedule interleaved --chunks 10 --tp 2 --cp 4");
  CHECK(tight.code == 0);
  const json::Value free = test::ask(plan + "--memory-utilization 0.6");
  const json::Value& memory = free["plans"][0]["memory"];
  CHECK(memory["peak_bytes"].get<double>() <= 0.6 * memory["capacity_bytes"].get<double>());
  CHECK(memory["process"]["fits"] == true);
  CHECK_FALSE(free.dump().find("leave enough free memory") != std::string::npos);
}
