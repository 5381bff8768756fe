// Launch commands and files of software stacks: printed (--emit) and read (--from).

#include "ask/request/launch/print.hpp"
#include "ask/request/launch/sizes.hpp"
#include "ask/request/options/options.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/ask.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::refusal_in;

namespace {

std::string emitted(const std::string& arguments) {
  const test::Ran ran = test::llmcalc(arguments);
  INFO("llmcalc " << arguments << "\n" << ran.err);
  CHECK(ran.code == 0);
  return ran.out;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The inputs, except lengths (which a launch limits but does not state), the name of a draft model, and inputs of
/// the user's script.
json::Value launch_inputs(const json::Value& answer, const Launch& table) {
  json::Value inputs = answer["inputs"];
  for (const char* key : {"prompt", "generate", "draft_model"}) inputs.erase(key);
  for (const std::string& key : table.script) inputs.erase(key);
  return inputs;
}

const char* ending(LaunchForm form) {
  switch (form) {
    case LaunchForm::toml:
      return ".toml";
    case LaunchForm::yaml:
      return ".yaml";
    case LaunchForm::json:
      return ".json";
    default:
      return ".txt";
  }
}

/// Prints a plan for a stack and reads the text back; `kept`: options that the text does not state.
void check_round_trip(const std::string& stack, const std::string& command, const std::string& model,
                      const std::string& kept, const std::string& plan) {
  const Launch table = *load_software(stack).launch;
  const std::string asked = command + " " + model + " " + kept + " " + plan + " --software " + stack;
  const std::string text = emitted(asked + " --emit " + stack);
  INFO(asked << "\n" << text);
  const std::string path = test::scratch() + "/launch" + ending(table.form);
  test::write_file(path, text);
  const bool names_model = table.form != LaunchForm::json;
  const json::Value back = test::ask(command + " " + (names_model ? "" : model) + " " + kept + " --from " + path);
  const json::Value first = test::ask(asked);
  CHECK(launch_inputs(back, table) == launch_inputs(first, table));
  CHECK(back["model"]["name"] == first["model"]["name"]);
}

struct StackPlans {
  const char *stack, *command, *model, *kept;
  std::vector<const char*> plans;
};

const std::vector<StackPlans> plans{
    {"vllm",
     "infer",
     "llama-3.1-8b",
     "--hardware h100",
     {"", "--tp 4 --batch 64", "--kv-precision fp8", "--tp 2 --precision fp8", "--weight-precision awq"}},
    {"vllm",
     "serve",
     "qwen3-30b-a3b",
     "--hardware h100 --rate 2 --num-requests 50",
     {"--tp 2 --dp 2 --ep 4 --etp 1 --sp", "--dp 4 --ep 4", "--pp 2",
      "--max-seqs 128 --max-batched-tokens 4096 --block-size 32 --prefix-cache off", "--adapters 4:16",
      "--memory-utilization 0.8 --max-chunk 512"}},
    {"vllm",
     "serve",
     "qwen3-8b",
     "--hardware h100 --rate 2 --num-requests 50 --acceptance 0.8",
     {"--draft-tokens 3", "--draft-tokens 4 --draft-model qwen3-0.6b"}},
    {"sglang",
     "serve",
     "qwen3-8b",
     "--hardware h100 --rate 2 --num-requests 50 --acceptance 0.8",
     {"--draft-tokens 3 --draft-model qwen3-0.6b"}},
    {"sglang",
     "infer",
     "llama-3.1-8b",
     "--hardware h100",
     {"--tp 4 --batch 64", "--kv-precision fp8", "--precision fp8", "--weight-precision gptq"}},
    {"sglang",
     "serve",
     "qwen3-30b-a3b",
     "--hardware h100 --rate 2 --num-requests 50",
     {"--tp 2 --dp 2 --ep 4 --etp 1 --sp", "--dp 4 --ep 4", "--pp 2", "--replicas 2",
      "--max-seqs 128 --block-size 16 --prefix-cache off", "--adapters 4:16",
      "--memory-utilization 0.7 --max-batched-tokens 4096"}},
    {"tensorrt-llm", "infer", "llama-3.1-8b", "--hardware h100", {"", "--tp 4 --batch 64"}},
    {"tensorrt-llm",
     "serve",
     "qwen3-30b-a3b",
     "--hardware h100 --rate 2 --num-requests 50",
     {"--tp 4 --ep 2 --etp 2 --sp --max-seqs 256", "--pp 2", "--memory-utilization 0.8 --max-batched-tokens 4096"}},
    {"llama.cpp",
     "infer",
     "llama-3.1-8b",
     "--hardware rtx-4090",
     {"--weight-precision q4_k_m", "--weight-precision q8_0 --batch 4 --kv-precision q8_0",
      "--kv-precision k=q8_0,v=q4_0", "--offload weights:0.25 --weight-precision q4_k_m",
      "--tp 2 --weight-precision q4_k_m"}},
    {"llama.cpp",
     "serve",
     "llama-3.1-8b",
     "--hardware rtx-4090 --rate 1 --num-requests 50",
     {"--pp 2 --weight-precision q4_k_m", "--max-seqs 8 --max-batched-tokens 1024 --weight-precision q4_k_m"}},
    {"llama.cpp",
     "infer",
     "qwen3-30b-a3b",
     "--hardware rtx-4090",
     {"--offload experts --weight-precision q4_k_m", "--offload experts:0.5 --weight-precision q4_k_m"}},
    {"ktransformers",
     "infer",
     "qwen3-30b-a3b",
     "--hardware rtx-4090",
     {"--offload experts --weight-precision awq", "--offload experts:0.75 --precision fp8 --tp 2"}},
    {"ollama",
     "infer",
     "llama-3.1-8b",
     "--hardware rtx-4090",
     {"--weight-precision q4_k_m", "--kv-precision q8_0 --batch 2 --weight-precision q4_k_m",
      "--offload weights:0.25 --weight-precision q4_k_m"}},
    {"megatron-lm",
     "train",
     "llama-3.1-8b",
     "--hardware h100",
     {"--gpus 16 --tp 4 --sp --pp 2 --global-batch 32", "--gpus 8 --tp 2 --cp 2 --seq 16k --recompute full",
      "--gpus 16 --tp 2 --pp 4 --chunks 2 --micro-batch 2 --global-batch 32 --recompute selective",
      "--gpus 8 --zero 1 --precision fp8 --recompute block:4", "--gpus 8 --fsdp --gradient-bytes 2",
      "--gpus 8 --zero 2 --optimizer muon", "--gpus 8 --zero 1 --offload optimizer --dropout",
      "--gpus 8 --tp 2 --cp 2 --cp-method ulysses --recompute selective:norm,mlp", "--gpus 16 --fsdp --hsdp 8"}},
    {"megatron-lm",
     "train",
     "mixtral-8x7b",
     "--hardware h100",
     {"--gpus 32 --tp 2 --sp --ep 8 --etp 1 --pp 2 --zero 1 --global-batch 64", "--gpus 16 --ep 8 --recompute full"}},
    {"torchtitan",
     "train",
     "llama-3.1-8b",
     "--hardware h100",
     {"--gpus 16 --fsdp --tp 2 --sp --global-batch 32", "--gpus 16 --fsdp --hsdp 8", "--gpus 8 --zero 2",
      "--gpus 8 --pp 2 --schedule gpipe --global-batch 32", "--gpus 8 --fsdp --cp 2 --cp-method all-gather",
      "--gpus 8 --fsdp --micro-batch 2 --precision fp8 --recompute full", "--gpus 8 --fsdp --offload optimizer,weights",
      "--gpus 8 --pp 4 --schedule zb-v --global-batch 32 --fsdp"}},
    {"deepspeed",
     "train",
     "llama-3.1-8b",
     "--hardware h100",
     {"--gpus 16 --zero 3 --global-batch 64", "--gpus 8 --zero 2 --micro-batch 2 --global-batch 32",
      "--gpus 8 --zero 1 --precision fp16", "--gpus 8 --zero 3 --offload optimizer,weights --optimizer lion",
      "--gpus 16 --zero 3 --hsdp 8", "--gpus 8 --tp 2 --zero 1 --gradient-bytes 2",
      "--gpus 8 --cp 2 --cp-method ulysses --zero 3"}},
    {"axolotl",
     "train",
     "llama-3.1-8b",
     "--hardware h100",
     {"--gpus 8 --fsdp --recompute full --global-batch 64", "--gpus 16 --fsdp --hsdp 8",
      "--gpus 8 --fsdp --tp 2 --micro-batch 2", "--gpus 8 --lora 8 --base-precision nf4",
      "--gpus 8 --fsdp --lora 16:q,v", "--gpus 8 --fsdp --cp 2 --optimizer adam8bit", "--gpus 8 --zero 2",
      "--gpus 8 --fsdp --offload optimizer,weights"}},
};

}  // namespace

TEST_CASE("for every stack, a printed launch command parses back to the same inputs", "[launch][cli]") {
  for (const StackPlans& p : plans)
    for (const char* plan : p.plans) check_round_trip(p.stack, p.command, p.model, p.kept, plan);
}

TEST_CASE("launch tables have only known inputs and sizes as keys, with valid command-line values", "[launch]") {
  std::size_t tables = 0;
  for (const Builtin& b : builtin_software()) {
    const SoftwareCard card = load_software(b.name);
    if (!card.launch) continue;
    ++tables;
    for (const LaunchRow& row : card.launch->rows) {
      INFO(b.name << " " << row.key);
      const auto all = options();
      const auto o = std::find_if(all.begin(), all.end(), [&](const Option& x) { return x.key() == row.key; });
      CHECK((o != all.end() || find_size(row.key) != nullptr));
      CHECK((!row.names.empty() || !row.cases.empty()));
      Request r;
      r.model = load_model("llama-3.1-8b");
      for (const LaunchCase& c : row.cases) {
        const bool plain = !c.input.empty() && c.input.find('{') == std::string::npos && c.input != "off";
        if (o != all.end() && plain) CHECK_NOTHROW(o->field.read(r, c.input, c.input));
      }
    }
    for (const std::string& key : card.launch->script) {
      const auto all = options();
      CHECK(std::any_of(all.begin(), all.end(), [&](const Option& x) { return x.key() == key; }));
    }
  }
  CHECK(tables == 10);
}

// TensorRT-LLM: keys of its YAML file. bitsandbytes' Adam is created by the script that calls DeepSpeed.
TEST_CASE("a launch table can express every capability of its stack", "[launch]") {
  const auto excepted = [](std::string_view stack, std::string_view word) {
    return (stack == "tensorrt-llm" && word == "dp") || (stack == "deepspeed" && word == "adam8bit");
  };
  const auto writes = [](const Launch& t, const char* key, const std::string& word) {
    const LaunchRow* row = t.row(key);
    if (row == nullptr) return false;
    return row->cases.empty() ||
           std::any_of(row->cases.begin(), row->cases.end(), [&](const LaunchCase& c) { return c.input == word; });
  };
  for (const Builtin& b : builtin_software()) {
    const SoftwareCard card = load_software(b.name);
    if (!card.launch) continue;
    INFO(b.name);
    for (const std::string& word : *card.capabilities.of(Capability::parallelism)) {
      INFO(word);
      CHECK((excepted(b.name, word) || expresses(*card.launch, word)));
    }
    if (!card.training) continue;
    for (const auto& [capability, key] : {std::pair{Capability::schedules, "schedule"},
                                          {Capability::zero, "zero"},
                                          {Capability::context, "cp_method"},
                                          {Capability::optimizers, "optimizer"}})
      for (const std::string& word : *card.capabilities.of(capability)) {
        INFO(key << " " << word);
        CHECK((excepted(b.name, word) || writes(*card.launch, key, word)));
      }
  }
}

TEST_CASE("a vLLM command gives the same plan in any spelling of its options", "[launch][cli]") {
  const std::string rest = " --hardware h100 --rate 4 --num-requests 50";
  const auto inputs = [&](const std::string& command) {
    return test::ask("serve --from '" + command + "'" + rest)["inputs"];
  };
  const json::Value tp4 = inputs("vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 4 --max-model-len 8192");
  CHECK(tp4 == test::ask("serve llama-3.1-8b --tp 4 --software vllm" + rest)["inputs"]);
  CHECK(tp4 == inputs("CUDA_VISIBLE_DEVICES=0,1,2,3 python3 -m vllm.entrypoints.openai.api_server --model "
                      "meta-llama/Llama-3.1-8B -tp 4 --host 0.0.0.0 --port=8000 --trust-remote-code"));
  CHECK(tp4 == inputs("vllm serve meta-llama/Llama-3.1-8B --tensor_parallel_size=4 \\\n --disable-log-requests"));
  const std::string draft = R"(--speculative-config '{"model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 4}')";
  test::write_file(test::scratch() + "/serve.sh", "#!/bin/sh\nexec vllm serve Qwen/Qwen3-8B --dtype auto " + draft);
  const json::Value drafted =
      test::ask("serve --from " + test::scratch() + "/serve.sh --acceptance 0.8" + rest)["inputs"];
  CHECK(drafted["draft_tokens"] == 4);
  CHECK(drafted["draft_model"] == "Qwen/Qwen3-0.6B");
}

TEST_CASE("a launch configuration file gives the plan, and its unrelated keys are ignored", "[launch][cli]") {
  const std::string path = test::scratch() + "/qlora.yaml";
  test::write_file(path,
                   "base_model: meta-llama/Llama-3.1-8B  # the base\nload_in_8bit: false\nload_in_4bit: true\n"
                   "adapter: qlora\nlora_r: 32\nlora_alpha: 16\nlora_target_linear: true\n"
                   "datasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\nsequence_len: 4096\n"
                   "gradient_accumulation_steps: 4\nmicro_batch_size: 2\nbf16: auto\noptimizer: adamw_bnb_8bit\n"
                   "gradient_checkpointing: true\nspecial_tokens:\n  pad_token: \"<|end_of_text|>\"\n");
  const json::Value inputs = test::ask("train --hardware h100 --gpus 4 --from " + path)["inputs"];
  CHECK(inputs ==
        test::ask("train llama-3.1-8b --hardware h100 --gpus 4 --software axolotl --lora 32 --base-precision "
                  "nf4 --seq 4096 --micro-batch 2 --global-batch 32 --optimizer adam8bit --recompute full")["inputs"]);
}

TEST_CASE("additional options override a launch command", "[launch][cli]") {
  const std::string from = "infer --hardware h100 --from 'vllm serve meta-llama/Llama-3.1-8B -tp 4' ";
  CHECK(test::ask(from + "--tp 2")["inputs"]["tp"] == 2);
  CHECK(test::ask(from + "--software sglang")["inputs"]["software"] == "sglang");
  CHECK(test::ask("infer qwen3-8b --hardware h100 --from 'vllm serve meta-llama/Llama-3.1-8B'")["model"]["name"] ==
        "qwen3-8b");
  CHECK(has(emitted(from + "--emit sglang"), "--tensor-parallel-size 4"));
}

TEST_CASE("requests longer than a launch command's limit are rejected; the default prompt is shortened",
          "[launch][cli]") {
  const std::string from = "infer --hardware h100 --from 'vllm serve meta-llama/Llama-3.1-8B --max-model-len 1024' ";
  const json::Value inputs = test::ask(from)["inputs"];
  CHECK(inputs["prompt"] == 1024 - 256);
  CHECK(refusal_in(from + "--prompt 4096") ==
        "llmcalc: --from: requests of 4352 tokens exceed the limit of 1024 tokens in the command\n");
}

TEST_CASE("a launch command with an unknown option or value is rejected with a one-sentence error", "[launch][cli]") {
  const auto said = [](const std::string& command) {
    return refusal_in("infer --hardware h100 --from '" + command + "'");
  };
  CHECK(said("vllm serve gpt2 --tensor-paralel-size 2") ==
        "llmcalc: --from: the launch table of vllm does not list \"--tensor-paralel-size\", did you mean "
        "\"--tensor-parallel-size\"?\n");
  CHECK(has(said("vllm serve gpt2 --quantization squeezellm"),
            "--quantization squeezellm has no counterpart in llmcalc"));
  CHECK(has(said("./start.sh gpt2"), "is not a launch command of a known stack"));
  CHECK(has(said("vllm serve gpt2 --tensor-parallel-size"), "--tensor-parallel-size needs a value"));
  CHECK(has(said("vllm serve gpt2 llama"), "unexpected word"));
}

TEST_CASE("the error for a plan that a launch table cannot express names the option", "[launch][cli]") {
  CHECK(refusal_in("train llama-3.1-8b --hardware h100 --gpus 8 --pp 2 --stage-layers 15,17 --emit megatron") ==
        "llmcalc: --stage-layers: the launch table of megatron-lm has no setting for it; omit it, or launch with "
        "another stack\n");
  CHECK(has(refusal_in("infer llama-3.1-8b --hardware h100 --weight-precision int4 --emit vllm"),
            "--weight-precision int4: the launch table of vllm has only"));
  CHECK(has(refusal_in("infer llama-3.1-8b --hardware h100 --software sglang --emit vllm"), "differs from"));
  CHECK(has(refusal_in("train llama-3.1-8b --hardware h100 --emit vllm"), "vllm is for inference"));
  CHECK(has(refusal_in("infer llama-3.1-8b --hardware h100 --emit tgi"), "has no launch table"));
  CHECK(has(refusal_in("train gpt2 --hardware h100 --emit torchtitan"), "no configuration for gpt-2-124m"));
}

TEST_CASE("prices, traffic and efficiencies do not affect a launch command", "[launch][cli]") {
  const std::string serve = "serve llama-3.1-8b --hardware h100 --rate 4 ";
  CHECK(emitted(serve + "--slo-ttft '500 ms' --price 2 --lengths constant --seed 3 --emit vllm") ==
        emitted(serve + "--emit vllm"));
  CHECK(emitted("train llama-3.1-8b --hardware h100 --gpus 8 --tokens 1T --overlap 0.5 --emit megatron") ==
        emitted("train llama-3.1-8b --hardware h100 --gpus 8 --emit megatron"));
}

TEST_CASE("the best plan of a search is printed as its launch command", "[launch][plan][cli]") {
  const std::string text = emitted("plan train llama-3.1-8b --hardware h100 --gpus 8 --pp 1 --emit megatron");
  CHECK(has(text, "torchrun --nproc-per-node 8 --nnodes 1 pretrain_gpt.py"));
  const std::string path = test::scratch() + "/best.txt";
  test::write_file(path, text);
  const json::Value best =
      test::ask("plan train llama-3.1-8b --hardware h100 --gpus 8 --pp 1 --software megatron")["plans"][0];
  CHECK(test::ask("train --hardware h100 --from " + path)["layout"]["tp"] == best["layout"]["tp"]);
  CHECK(has(emitted("plan serve llama-3.1-70b --hardware h100 --rate 5 --slo-tpot 50ms --emit vllm"),
            "vllm serve meta-llama/Llama-3.1-70B"));
  CHECK(has(refusal_in("plan train llama-3.1-405b --hardware h100 --gpus 1 --emit megatron"), "no plan"));
}

TEST_CASE("the model of a launch command can be a hub name, a file or a model name", "[launch][cli]") {
  const auto start = [&](const std::string& model) {
    const std::string text = emitted("infer " + model + " --hardware h100 --emit vllm");
    return text.substr(0, text.find(" \\"));
  };
  CHECK(start("llama-3.1-8b") == "vllm serve meta-llama/Llama-3.1-8B");
  CHECK(start("meta-llama/Llama-3.1-8B-Instruct") == "vllm serve meta-llama/Llama-3.1-8B-Instruct");
  CHECK(start("docs/examples/tiny-llama.json") == "vllm serve docs/examples/tiny-llama.json");
}

TEST_CASE("JSON requests accept a launch command but no launch file", "[launch]") {
  const auto asked = [](const std::string& from) {
    return ask({{"command", "infer"}, {"hardware", "h100"}, {"inputs", {{"from", from}}}});
  };
  CHECK(asked("vllm serve gpt2 -tp 2")["inputs"]["tp"] == 2);
  CHECK(has(asked("docs/examples/tiny-llama.json")["error"]["message"].get<std::string>(), "not a launch command"));
  const json::Value printed =
      ask({{"command", "infer"}, {"model", "gpt2"}, {"hardware", "h100"}, {"inputs", {{"emit", "vllm"}}}});
  CHECK(has(printed["launch"].get<std::string>(), "vllm serve"));
}
