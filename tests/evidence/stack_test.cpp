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
