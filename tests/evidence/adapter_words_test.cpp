// Adapters in training rows.

#include "evidence/convert/words/adapter_words.hpp"

#include "calc/train.hpp"
#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/logs/served_model.hpp"
#include "evidence/rows/training_case.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

TrainingCase with_precision(const char* said) {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.precision = said;
  return training_case(row, devices_once());
}

LoraTargets targets(std::initializer_list<LoraTarget> all) {
  LoraTargets out;
  for (const LoraTarget t : all) out.add(t);
  return out;
}

}  // namespace

TEST_CASE("a LoRA row is predicted with the rank and targets that it states", "[adapters]") {
  using T = LoraTarget;
  const TrainingCase stated = with_precision("bf16, LoRA rank 8 on q_proj, v_proj");
  REQUIRE(stated.skip == "");
  CHECK(stated.plan.lora_rank == 8);
  CHECK(stated.plan.lora_targets == targets({T::q, T::v}));
  CHECK_FALSE(stated.input_assumed);
  CHECK(with_precision("LoRA r=32, all linear layers, bf16").plan.lora_targets == LoraTargets::all());
  CHECK(with_precision("LoRA (r 4, attention only), bf16").plan.lora_targets == targets({T::q, T::k, T::v, T::out}));
  CHECK(with_precision("LoRA-16 on the MLP, bf16").plan.lora_targets == targets({T::gate, T::up, T::down}));
}

TEST_CASE("defaults are assumed for an unstated adapter rank and unstated targets", "[adapters]") {
  const TrainingCase c = with_precision("bf16 LoRA");
  CHECK((c.plan.lora_rank == 16 && c.plan.lora_targets == LoraTargets::all() && c.input_assumed));
  CHECK(c.assumed[0] == "adapters of rank 16: the row does not state the rank");
  CHECK(c.assumed[1] == "adapters for every matrix of a block: the row does not state their targets");
  const auto flops = [](const TrainingCase& of) {
    return train(of.arch, of.plan, of.layout, of.cluster()).flops.model_total.value;
  };
  CHECK(flops(c) < flops(with_precision("bf16")));
}

TEST_CASE("the frozen weights of QLoRA have four bits", "[adapters]") {
  const DType bf16 = dtypes::bf16;
  CHECK(with_precision("QLoRA (nf4 base, bf16 compute)").plan.base_precision == served_weights(*dtype("nf4"), bf16));
  CHECK(with_precision("bf16 LoRA on an int8 base").plan.base_precision == served_weights(*dtype("int8-row"), bf16));
  CHECK(with_precision("bf16 LoRA").plan.base_precision == WeightFormats(bf16));
  TrainingRow row = row_called(training_rows(), "mosaic-13b-s2048-512xh100_80gb-mbs16");  // ZeRO-3
  row.notes = "QLoRA";
  const TrainingCase c = training_case(row, devices_once());
  REQUIRE(c.skip == "");
  CHECK(c.layout.zero == Zero::gradients);
}

TEST_CASE("a row that rules out adapters or only mentions them for comparison is a full training run", "[adapters]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  for (const char* note : {"no LoRA", "full fine-tuning, faster than LoRA", "Colorado", "LoRA: off"}) {
    INFO(note);
    row.notes = note;
    CHECK_FALSE(trains_adapters(row));
  }
  row.notes = "";
  row.family = "full and LoRA recipes";
  CHECK_FALSE(trains_adapters(row));
  row.family = "LoRA recipes";
  CHECK(trains_adapters(row));
  row.notes = "full fine-tune";
  CHECK_FALSE(trains_adapters(row));
}

TEST_CASE("an adapter rank not less than a matrix dimension is rejected", "[adapters]") {
  CHECK(with_precision("bf16 LoRA rank 1024").skip ==
        "adapters of rank 1024, which is not less than the 768 columns of a matrix");
}
