// Recorded runs as inputs of the calculation.

#include "evidence/rows/run_case.hpp"

#include "evidence/convert/run_conversion.hpp"
#include "evidence/row_subject.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;

namespace {

const RecordedRun& published_run(std::string_view name) {
  static const std::vector<RecordedRun> runs = test::old_runs();
  return *std::find_if(runs.begin(), runs.end(), [&](const RecordedRun& r) { return r.name == name; });
}
RunCase case_of(const RecordedRun& run) { return run_case(run, test::devices_once()); }
RunCase published_case(std::string_view name) { return case_of(published_run(name)); }

}  // namespace

TEST_CASE("a recorded run determines the model, device, formats and limits", "[recorded]") {
  const RunCase c = published_case("rtx-pro-6000-llama-3.1-8b");
  CHECK(c.skip.empty());
  CHECK(c.head.model == "llama-3.1-8b");
  CHECK(c.on.hardware.name == "rtx-pro-6000-blackwell-server");
  CHECK(c.cluster().device.bandwidth == BytesPerSecond(1597e9));
  CHECK(c.plan.precision == dtypes::bf16);
  CHECK(c.plan.kv_precision == dtypes::bf16);
  CHECK(c.limits == EngineLimits{.pass_tokens = 2048, .sequences = 128});
  CHECK(c.stack.loop == ServingLoop::vllm);
  CHECK(c.layout == Layout{});
  // 0.9 x 0.99 x 96 GiB minus 15 GiB of weights, at 128 KiB per token
  CHECK(c.memory.kv_tokens == Approx(575000).epsilon(0.01));
}

TEST_CASE("the model of a recorded run is split over its tensor-parallel ranks", "[recorded]") {
  const RunCase c = published_case("rtx-pro-6000-qwen3-32b");
  CHECK(c.skip.empty());
  CHECK(c.layout.tp == 2);
  CHECK_FALSE(c.in_step());
}

TEST_CASE("stages, memory fraction and formats of a run are those stated in its file", "[recorded]") {
  RecordedRun run = published_run("rtx-pro-6000-llama-3.1-8b");
  const RunCase whole = case_of(run);
  run.stages = 2;
  const RunCase staged = case_of(run);
  REQUIRE(staged.skip.empty());
  CHECK(staged.layout.pp == 2);
  CHECK(staged.memory.kv_tokens > whole.memory.kv_tokens);
  run.stages = 1;
  run.utilization = 0.5;
  CHECK(case_of(run).memory.kv_tokens < whole.memory.kv_tokens);
  run.utilization = std::nullopt;
  const auto weights = [&](const char* model, const char* quantization) {
    run.model = model;
    run.quantization = quantization;
    const RunCase c = case_of(run);
    REQUIRE(c.skip == "");
    return std::string(c.plan.weight_precision[c.arch.has_experts() ? Component::experts : Component::mlp].name());
  };
  const char* llama = "meta-llama/Llama-3.1-8B";
  for (const char* none : {"", "None", "none", "auto"}) CHECK(weights(llama, none) == "bf16");
  CHECK(weights(llama, "fp8") == "fp8");
  CHECK(weights("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8", "None") == "fp8");
  CHECK(weights("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "compressed-tensors") == "int4-g128");
  CHECK(weights("openai/gpt-oss-20b", "") == "mxfp4");  // the published format
  CHECK(weights(llama, "compressed-tensors") == "bf16");
  CHECK(case_of(run).input_assumed);
}

TEST_CASE("the config.json of a recorded run determines its model", "[recorded]") {
  RecordedRun run = published_run("rtx-pro-6000-llama-3.1-8b");
  run.model = "a-model-of-tomorrow";
  CHECK_FALSE(case_of(run).skip.empty());
  run.config.emplace();
  run.config->arch = published_case("rtx-pro-6000-qwen3-32b").arch;
  const RunCase c = case_of(run);
  CHECK(c.skip == "");
  CHECK(c.arch == run.config->arch);
  CHECK(c.head.model == "a-model-of-tomorrow");
}

TEST_CASE("only data-parallel engines that share experts run in lockstep", "[recorded]") {
  RecordedRun run = published_run("rtx-pro-6000-llama-3.1-8b");
  run.data_ranks = 2;
  run.expert_parallel = true;
  CHECK(case_of(run).layout.dp == 2);
  CHECK(case_of(run).layout.ep == 1);
  CHECK_FALSE(case_of(run).in_step());
  run.model = "Qwen/Qwen3-30B-A3B-Instruct-2507";
  const RunCase experts = case_of(run);
  CHECK(experts.skip.empty());
  CHECK(experts.layout.ep == 2);
  CHECK(experts.layout.etp == 1);
  CHECK(experts.layout.once_per_rank);
  CHECK(experts.in_step());
}

TEST_CASE("a run on an unknown device is replayed if its bandwidth is stated", "[recorded]") {
  RecordedRun run = published_run("rtx-pro-6000-llama-3.1-8b");
  run.hardware = "Foo X100";
  CHECK(case_of(run).skip == "");
  CHECK(case_of(run).input_assumed);
  run.bandwidth_gb_s = std::nullopt;
  CHECK(case_of(run).skip == "no preset is named \"Foo X100\", and the row does not state its bandwidth");
}

TEST_CASE("unstated values of a run are assumed and reported, and impossible runs are skipped", "[recorded]") {
  RecordedRun run = published_run("rtx-pro-6000-llama-3.1-8b");
  run.max_num_seqs = std::nullopt;
  CHECK(case_of(run).limits.sequences == 1024);  // the default on 96 GiB
  CHECK(case_of(run).assumed.size() == published_case("rtx-pro-6000-llama-3.1-8b").assumed.size() + 1);
  CHECK_FALSE(case_of(run).input_assumed);
  for (const auto& [engine, sentence] : {std::pair{"", "vLLM's scheduler and profile: the engine is not stated"},
                                         {"Foo", "vLLM's scheduler and profile: \"Foo\" is unknown"}}) {
    run.engine = engine;
    const RunCase c = case_of(run);
    CHECK(c.skip == "");
    CHECK(std::find(c.assumed.begin(), c.assumed.end(), sentence) != c.assumed.end());
    CHECK(c.input_assumed);
    CHECK(c.engine.name == (*engine == '\0' ? "not stated" : "Foo 0.19.0"));
    CHECK(subject_of(c).kind == "assumed input");
  }
  run.tensor_ranks = 7;
  CHECK(case_of(run).skip == "7 tensor-parallel and 1 data-parallel ranks do not divide llama-3.1-8b");
  run.model = "a-model-of-tomorrow";
  CHECK(case_of(run).skip == "no preset is named \"a-model-of-tomorrow\"");
}

TEST_CASE("scheduling options that a replay does not model are reported", "[recorded]") {
  RecordedRun run = published_run("rtx-pro-6000-llama-3.1-8b");
  const std::size_t usual = case_of(run).assumed.size();
  run.chunked_prefill = true;
  run.prefix_caching = false;
  CHECK(case_of(run).assumed.size() == usual);
  run.prefix_caching = true;
  CHECK(case_of(run).assumed.size() == usual + 1);
  CHECK_FALSE(case_of(run).input_assumed);
  run.chunked_prefill = false;
  CHECK(case_of(run).input_assumed);
  run.version = "0.6.3";  // schedules whole prompts first
  CHECK_FALSE(case_of(run).input_assumed);
  run.beyond = "decoding was speculative";
  CHECK(case_of(run).skip == "decoding was speculative");
}
