// Recognition of the software of a training row.

#include "evidence/names/stack.hpp"

#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/convert/words/stack_words.hpp"
#include "evidence/names/training_stack.hpp"
#include "evidence/rows/training_case.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

TrainingCase case_of(const TrainingRow& row) { return training_case(row, devices_once()); }

TrainingCase case_of_family(const char* family) {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.family = family;
  return case_of(row);
}

}  // namespace

TEST_CASE("in training, a stack named after an inference engine is treated as PyTorch FSDP", "[stack]") {
  const TrainingCase c = case_of_family("our runs of transformers");
  CHECK(c.stack.name == "transformers");
  CHECK(training_stack(c) == training_stack(case_of_family("our runs of fsdp")));
}

TEST_CASE("a stack is recognized by whole words, but not if it is named only for comparison", "[stack]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.family = row.source.title = row.source.url = "s";
  for (const auto& [note, name] : {std::pair{"compared with Megatron-DeepSpeed", "torch-fsdp"},
                                   {"faster than torchtitan", "torch-fsdp"},
                                   {"without NeMo", "torch-fsdp"},
                                   {"nemoral", "torch-fsdp"},
                                   {"NeMo 24.09", "nemo"}}) {
    INFO(note);
    row.notes = note;
    CHECK(stack_of(row).name == name);
  }
}

TEST_CASE("a version that names the Trainer of Transformers selects its profile", "[stack]") {
  const TrainingCase lora = training_case_called("qwenft-7b-lora-seq4096");
  CHECK(lora.stack.name == "hf-trainer");
  CHECK(lora.plan.logits == LogitStore{.format = LogitFormat::copies, .bytes = 12});
  CHECK(lora.plan.base_precision[Component::embedding].name() == "bf16");
  CHECK(training_case_called("qwenft-7b-q-lora-seq4096").plan.base_precision[Component::embedding].name() == "fp32");
  CHECK(training_case_called("qwenft-7b-full-parameter-seq256").stack.name == "deepspeed");  // ZeRO 3
  CHECK(training_case_called("qwenft-7b-lora-emb-seq256").skip == "adapters, with embedding and head trained in full");
}

TEST_CASE("the container of a run determines dispatch, overlap and graphs", "[stack]") {
  const auto qwen3 = [](const char* container) {
    TrainingRow row =
        row_called(training_rows(), "mbridge-25.11-qwen3_30b_a3b-gb200-8-fp8-mx-gbs512-mbs4-tp1-pp1-cp1-ep8");
    row.precision = "mxfp8 (TE) + bf16";
    row.source.table = std::string(container) + " NeMo container";
    return case_of(row);
  };
  CHECK_FALSE(qwen3("25.09").layout.once_per_rank);
  CHECK(qwen3("25.11").layout.once_per_rank);
  CHECK_FALSE(qwen3("26.04.01").stack.ep_overlap);
  CHECK(qwen3("26.06").stack.ep_overlap);
  CHECK(training_stack(qwen3("26.06")).graphs);
}

TEST_CASE("NVIDIA's performance scripts reduce gradients in 16 bits and gather weights in fp8", "[stack]") {
  const TrainingCase nemo = training_case_called("nemo2507-llama-3.1-405b-pre-training-gb200-128-gbs64-tp2-pp1");
  CHECK(nemo.plan.gradient_bytes == 2);
  CHECK(training_weights(nemo.plan).name() == "fp8");
  CHECK(training_case_called("simumax-b200-llama3_405b_l4_tp8_pp1_dp1_mbc32_cef").plan.gradient_bytes == 4);
}

TEST_CASE("a row's software key accepts the names of software profiles", "[stack]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto stack = [&](const char* software) {
    row.software = software;
    return stack_of(row);
  };
  CHECK(stack("").name == "llm.c");  // from the family's words
  for (const auto& [said, name] : {std::pair{"torchtitan", "torchtitan"},
                                   {"NeMo 24.09", "nemo"},
                                   {"megatron-lm", "megatron-core"},
                                   {"Megatron-Core v0.11", "megatron-core"},
                                   {"megatron-lm-legacy", "megatron-lm"},
                                   {"our fork of DeepSpeed", "deepspeed"},
                                   {"colossal-ai", "colossal-ai"}}) {
    CHECK(stack(said).name == name);
    CHECK(stack(said).assumed == "");
  }
  CHECK(stack("torch-fsdp-compiled").name == "torch-fsdp");
  CHECK(stack("torch-fsdp-compiled").compiled == true);
  CHECK(training_stack(case_of(row)).fusion == Fusion::compiled);
}

TEST_CASE("unknown software is reported as an assumption, with the nearest names", "[stack]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.software = "torchtitn";
  CHECK_THAT(stack_of(row).assumed,
             Catch::StartsWith("llm.c: unknown training software \"torchtitn\", did you mean \"torchtitan\""));
  row.software = "Wonder Trainer";
  CHECK(stack_of(row).assumed == "llm.c: unknown training software \"Wonder Trainer\"");
  const TrainingCase c = case_of(row);
  CHECK(c.input_assumed);
  CHECK(c.assumed.back() == stack_of(row).assumed);
}

TEST_CASE("three keys of a row can state its software", "[stack]") {
  for (const char* key : {"software", "framework", "stack"}) {
    const OldFile f = read_old_file(
        R"([{"id": "a", "model": {"layers": 2, "hidden": 64, "heads": 4}, "hardware": {"gpu": "A100-SXM", "count": 8},
        "measured": {"iteration_time_s": 1.5}, ")" +
            std::string(key) + R"(": "NeMo"}])",
        "f");
    CHECK(f.training.at(0).software == "NeMo");
    CHECK(f.unknown_keys.empty());
  }
}

TEST_CASE("Megatron-LM rows without a stated kernel assume fused softmax on older GPUs and otherwise flash",
          "[stack]") {
  TrainingRow row = row_called(training_rows(), "sc21-t1-1.7B");
  row.family = row.source.title = row.source.url = "Megatron-LM";
  row.attention = row.notes = "";
  const auto read = [&](const char* gpu) {
    row.hardware.gpu = gpu;
    const TrainingCase c = case_of(row);
    REQUIRE(c.skip == "");
    return c;
  };
  for (const char* gpu : {"V100-SXM2", "A100-SXM"}) CHECK(read(gpu).attention.kernel == AttentionKernel::fused_softmax);
  for (const char* gpu : {"H100-SXM", "B200-SXM", "TPU v5p", "MI300X"}) {
    const TrainingCase c = read(gpu);
    CHECK(c.attention.kernel == AttentionKernel::flash);
    CHECK(c.input_assumed);
    CHECK_THAT(c.assumed,
               Catch::VectorContains(std::string("a flash kernel for attention: the row does not state the kernel")));
  }
  for (const char* note :
       {"--use-flash-attn", "flash attention enabled", "TransformerEngine 1.7, cuDNN 9.1", "TE 1.7"}) {
    INFO(note);
    row.notes = note;
    CHECK(read("A100-SXM").attention.kernel == AttentionKernel::flash);
  }
  row.notes = "without flash attention";
  CHECK(read("A100-SXM").attention.kernel == AttentionKernel::fused_softmax);
}

TEST_CASE("Megatron-Core branches and forks with TransformerEngine are treated as Megatron-Core", "[stack]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.source.url = "s";
  for (const char* title : {"Megatron-LM core_r0.8 weak scaling", "Megatron-LM (MCore, TE 2.1)", "AMD Primus",
                            "Megatron-LM with Transformer Engine"}) {
    INFO(title);
    row.family = row.source.title = title;
    CHECK(stack_of(row).name == "megatron-core");
  }
  row.software = "TransformerEngine";
  CHECK(stack_of(row).name == "megatron-core");
  CHECK(stack_of(row).assumed == "");
}

TEST_CASE("MLPerf submissions are attributed to NeMo only on NVIDIA devices", "[stack]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.family = row.source.title = row.source.url = "MLPerf Training v4.0";
  CHECK(stack_of(row).name == "nemo");
  row.hardware.gpu = "TPU v5p";
  CHECK(stack_of(row).name == "maxtext");
  CHECK(stack_of(row).assumed != "");
  row.hardware.gpu = "MI325X";
  CHECK(stack_of(row).assumed == "nemo: a submission to MLPerf on \"MI325X\", whose software the row does not name");
  row.family = "MLPerf with NeMo";
  CHECK(stack_of(row).assumed == "");
}
