// The software of a row of training, and how its words are read.

#include "evidence/stack.hpp"

#include "evidence/training_case.hpp"
#include "evidence/training_stack.hpp"
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

TEST_CASE("a stack whose name is an engine's too trains as PyTorch does", "[stack]") {
  const TrainingCase c = case_of_family("our runs of transformers");
  CHECK(c.stack.name == "transformers");
  CHECK(training_stack(c) == training_stack(case_of_family("our runs of fsdp")));
}

TEST_CASE("a stack is told by whole words, and not where another is compared with it", "[stack]") {
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

TEST_CASE("a row names its software by a key, as commands call it", "[stack]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto stack = [&](const char* software) {
    row.software = software;
    return stack_of(row);
  };
  CHECK(stack("").name == "llm.c");  // the family's words
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

TEST_CASE("software that nobody knows is an assumption, with the nearest names", "[stack]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.software = "torchtitn";
  CHECK_THAT(stack_of(row).assumed,
             Catch::StartsWith("llm.c: no training software is called \"torchtitn\", did you mean "
                               "\"torchtitan\""));
  row.software = "Wonder Trainer";
  CHECK(stack_of(row).assumed == "llm.c: no training software is called \"Wonder Trainer\"");
  const TrainingCase c = case_of(row);
  CHECK(c.input_assumed);
  CHECK(c.assumed.back() == stack_of(row).assumed);
}

TEST_CASE("the key of a row's software has three names", "[stack]") {
  for (const char* key : {"software", "framework", "stack"}) {
    const MeasurementFile f = read_measurements(
        R"([{"id": "a", "model": {"layers": 2, "hidden": 64, "heads": 4}, "hardware": {"gpu": "A100-SXM", "count": 8},
        "measured": {"iteration_time_s": 1.5}, ")" +
            std::string(key) + R"(": "NeMo"}])",
        "f");
    CHECK(f.training.at(0).software == "NeMo");
    CHECK(f.unknown_keys.empty());
  }
}
