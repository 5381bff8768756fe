#include "evidence/accuracy.hpp"

#include <cmath>
#include <map>
#include <set>

#include "evidence/accuracy_groups.hpp"
#include "evidence/convert/inference/inference_conversion.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using llmcalc::test::row_called;

namespace {

bool about(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); }

const MeasurementFile& published(MeasurementKind kind) {
  static const std::map<MeasurementKind, MeasurementFile> files{
      {MeasurementKind::training, published_measurements(MeasurementKind::training)},
      {MeasurementKind::inference, published_measurements(MeasurementKind::inference)},
      {MeasurementKind::serving, published_measurements(MeasurementKind::serving)}};
  return files.at(kind);
}

const Accuracy& published_accuracy(AccuracyKind kind) {
  static const std::map<AccuracyKind, Accuracy> all = [] {
    std::map<AccuracyKind, Accuracy> made;
    for (const auto& [k, name] : choices<AccuracyKind>) made.emplace(k, accuracy(published(rows_for(k)), k));
    return made;
  }();
  return all.at(kind);
}

/// A made-up row with a measured value of 100 and this prediction.
PredictedRow made(const char* family, const char* gpu, double predicted) {
  PredictedRow r{.id = "x", .of = {.family = family}, .quantity = "step_time_s"};
  r.of.gpu = gpu;
  r.predicted = {predicted, 90, 115};
  r.measured = 100;
  return r;
}

const ErrorSummary* found(const std::vector<ErrorGroup>& groups, const std::string& text) {
  for (const ErrorGroup& g : groups)
    if (g.text() == text) return &g.errors;
  return nullptr;
}

MeasurementFile file_of(const std::string& row) { return test::read_old("[" + row + "]", "mine"); }

std::string inference_row(const std::string& batch, const std::string& measured) {
  return R"({"id": "i", "model": {"arch": {"layers": 2, "hidden": 4096, "heads": 32, "ffn": 14336}},
    "quantization": {"weights": "bf16"}, "hardware": {"accelerator": "NVIDIA L40S", "count": 1}, "batch": )" +
         batch + R"(, "measured": )" + measured + "}";
}

}  // namespace

TEST_CASE("every published row is predicted or skipped with a reason", "[accuracy]") {
  const Accuracy& t = published_accuracy(AccuracyKind::training);
  CHECK(t.rows.size() + t.skipped.size() == 1785);
  std::set<std::string> ids;
  for (const PredictedRow& r : t.rows) ids.insert(r.id);
  for (const SkippedRow& s : t.skipped) {
    ids.insert(s.id);
    CHECK_FALSE(s.reason.empty());
  }
  CHECK(ids.size() == 1785);
  CHECK(20 * t.skipped.size() < 1785);

  std::size_t memories = 0;
  for (const TrainingRow& row : test::training_rows()) {
    const TrainingMeasured& m = row.measured;
    memories += m.memory_per_gpu_gb.has_value() + m.memory_per_gpu_gib.has_value() +
                m.memory_allocated_gib.has_value() + m.memory_allocated_bytes.has_value();
  }
  const Accuracy& mem = published_accuracy(AccuracyKind::memory);
  CHECK(mem.rows.size() + mem.skipped.size() == memories);

  std::size_t figures = 0;
  for (const InferenceRow& row : test::inference_rows())
    figures += inference_case(row, test::devices_once()).skip.empty() ? row.measured.size() : 1;
  const Accuracy& i = published_accuracy(AccuracyKind::inference);
  CHECK(i.rows.size() + i.skipped.size() == figures);
}

TEST_CASE("a measured value keeps the row's key and unit", "[accuracy]") {
  std::map<std::pair<std::string, std::string>, double> said;
  for (const InferenceRow& row : test::inference_rows())
    for (const auto& [key, value] : row.measured) said[{row.id, key}] = value;
  for (const PredictedRow& r : published_accuracy(AccuracyKind::inference).rows) {
    INFO(r.id << " " << r.quantity);
    // Some sources write GB for 2^30 bytes; the number is the same.
    CHECK(about(r.measured, said.at({r.id, r.quantity})));
    CHECK(r.predicted.value > 0);
  }
  for (const PredictedRow& r : published_accuracy(AccuracyKind::training).rows) {
    if (r.measured_as != "iteration_time_s") continue;
    CHECK(r.measured == *row_called(test::training_rows(), r.id).measured.iteration_time_s);
  }
}

TEST_CASE("predictions are computed values converted to the unit of the measurement", "[accuracy]") {
  const InferenceRow& row = row_called(test::inference_rows(), "ft-gpt-89b-tp8-b1-i128-o8");
  const InferenceCase c = inference_case(row, test::devices_once());
  const auto& rows = published_accuracy(AccuracyKind::inference).rows;
  const PredictedRow& r = row_called(rows, "ft-gpt-89b-tp8-b1-i128-o8");
  CHECK(r.quantity == "e2e_latency_ms");
  CHECK(r.measured == Approx(279.44));
  CHECK(about(r.predicted.value, PredictedCase(c).figure(c.figures[0])->value * 1000));
  // Korthikanti et al. 2022, Table 5: 1.42 s for the 22B model with full recomputation.
  const PredictedRow& step = row_called(published_accuracy(AccuracyKind::training).rows, "korthikanti-22B-full");
  CHECK(step.measured == 1.42);
  CHECK((step.predicted.value > 0.5 && step.predicted.value < 2.5));
  CHECK(step.of.model == "GPT-22B");
  CHECK(step.of.parallelism == "tp");
  CHECK(step.of.kind == "dense");
}

TEST_CASE("no published step is estimated below its bound", "[accuracy]") {
  std::size_t overlapped = 0;
  for (const PredictedRow& r : published_accuracy(AccuracyKind::training).rows) {
    INFO(r.id);
    REQUIRE(r.bound);
    CHECK(r.predicted.value >= *r.bound * (1 - 1e-12));
    overlapped += r.id.starts_with("dgxc2505-deepseekv3-h100-bf16");  // runs that overlap tensor-parallel collectives
  }
  CHECK(overlapped >= 2);
}

TEST_CASE("the errors of a group are computed from its rows", "[accuracy]") {
  Accuracy a;
  a.rows = {made("a", "x", 110), made("a", "y", 80), made("a", "y", 130), made("b", "y", 60)};
  PredictedRow apart = made("b", "y", 500);
  apart.repeats = true;
  a.rows.push_back(apart);
  apart.repeats = false;
  apart.doubt = "its source advises against it";
  a.rows.push_back(apart);
  a.kind = AccuracyKind::training;
  const std::vector<ErrorGroup> groups = error_groups(a);
  const ErrorSummary* all = found(groups, "all rows");
  REQUIRE(all != nullptr);
  CHECK(all->rows == 4);            // excludes repeats and doubtful rows
  CHECK(about(all->median, 0.25));  // of 10, 20, 30, 40 %
  CHECK(about(all->mean, 0.25));    // 100 % / 4
  CHECK(about(all->p90, 0.37));     // 2.7: 0.7 of the way from 30 to 40 %
  CHECK(all->coverage == 1.0);      // 100 is within 90 to 115
  const ErrorSummary* families = found(groups, "families of 3 rows or more");
  REQUIRE(families != nullptr);
  CHECK(families->rows == 1);           // a has three, b one
  CHECK(about(families->median, 0.2));  // of 10, 20, 30 %
  CHECK(found(groups, "gpu: x")->rows == 1);
  CHECK(about(found(groups, "gpu: y")->median, 0.3));  // of 20, 30, 40 %
  CHECK(found(groups, "quantity: step_time_s") == nullptr);
  CHECK(groups.front().text() == "all rows");
}

TEST_CASE("an accuracy report without rows has no error groups", "[accuracy]") {
  CHECK(error_groups(Accuracy{}).empty());
}

TEST_CASE("a family with fewer than three rows is omitted from the summary over families", "[accuracy]") {
  Accuracy a;
  a.rows = {made("a", "x", 110), made("a", "x", 80)};
  CHECK(found(error_groups(a), "families of 3 rows or more") == nullptr);
}

TEST_CASE("rejected figures are skipped with a reason", "[accuracy]") {
  // 1e15 sequences x 512 tokens x 4096 elements x 2 bytes = 4e21 bytes, more than 2^63 = 9.2e18.
  const std::string many = R"({"batch": 1e15, "input_len": 512, "output_len": 8})";
  const Accuracy over = accuracy(file_of(inference_row(many, R"({"e2e_latency_ms": 5})")), AccuracyKind::inference);
  CHECK(over.rows.empty());
  REQUIRE(over.skipped.size() == 1);
  CHECK(over.skipped[0].reason == "e2e_latency_ms: a product of its numbers exceeds 2^63");

  const std::string fp8 = R"({"id": "t", "model": {"layers": 2, "hidden": 64, "heads": 4, "ffn_hidden": 256,
    "seq_len": 64}, "hardware": {"gpu": "A100-SXM", "count": 1}, "precision": "fp8",
    "batch": {"global": 8}, "measured": {"iteration_time_s": 1}})";
  const Accuracy none = accuracy(file_of(fp8), AccuracyKind::training);
  REQUIRE(none.skipped.size() == 1);
  CHECK(none.skipped[0].reason == "a100-sxm-40gb does not support matmuls in fp8");

  const Accuracy nothing_left =
      accuracy(file_of(inference_row(R"({"kind": "capacity"})", R"({"kv_gib_per_gpu": -1})")), AccuracyKind::inference);
  REQUIRE(nothing_left.skipped.size() == 1);
  CHECK(nothing_left.skipped[0].reason.starts_with("kv_gib_per_gpu: the value is not positive"));
}

TEST_CASE("rows without a measured memory are neither predicted nor skipped", "[accuracy]") {
  const std::string row = R"({"id": "t", "model": {"layers": 2, "hidden": 64, "heads": 4, "ffn_hidden": 256,
    "seq_len": 64}, "hardware": {"gpu": "A100-SXM", "count": 1}, "batch": {"global": 8}, "measured": {"iteration_time_s": 1}})";
  const Accuracy a = accuracy(file_of(row), AccuracyKind::memory);
  CHECK((a.rows.empty() && a.skipped.empty()));
}

TEST_CASE("progress is reported for every row of a file", "[accuracy]") {
  const std::string row = inference_row("{}", R"({"tpot_ms": 9})");
  Count calls = 0;
  accuracy(file_of(row), AccuracyKind::inference, [&](Count done, Count all) {
    CHECK((done == 0 && all == 1));
    ++calls;
  });
  CHECK(calls == 1);
}

TEST_CASE("the interval of a step never extends below its bound", "[accuracy]") {
  for (const PredictedRow& r : published_accuracy(AccuracyKind::training).rows) {
    if (!r.bound || !r.predicted.low) continue;
    INFO(r.id);
    CHECK(*r.predicted.low >= std::min(*r.bound, r.predicted.value) * (1 - 1e-12));
  }
}

TEST_CASE("rows that showed a missing term are predicted within 25 %", "[accuracy]") {
  const auto error = [](AccuracyKind kind, const std::string& id) {
    for (const PredictedRow& r : published_accuracy(kind).rows)
      if (r.id == id) return std::fabs(r.predicted.value / r.measured - 1);
    return 1e9;
  };
  for (const char* id :
       {"nemo2507-llama-3.1-405b-pre-training-gb200-128-gbs64-tp2-pp1",           // 16-bit gradients, fp8 weights
        "mbridge-26.06-qwen3_30b_a3b-gb300-8-mxfp8-gbs512-mbs8-tp1-pp1-cp1-ep8",  // expert overlap
        "mb2-26.06-nemotron-3-nano-30b-a3b-pre-gb300-8-mxfp8-gbs512-tp1-pp1-ep8"}) {
    INFO(id);
    CHECK(error(AccuracyKind::training, id) < 0.25);
  }
  CHECK(error(AccuracyKind::memory, "qwenft-7b-lora-seq4096") < 0.25);  // float32 copies of the logits
}
