// Memory of training processes: terms computed by hand, and errors relative to measurements.

#include <cmath>
#include <map>

#include "evidence/accuracy.hpp"
#include "evidence/accuracy_groups.hpp"
#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/fit/memory_fit.hpp"
#include "evidence/trained_process.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using llmcalc::test::row_called;

namespace {

TrainingCase case_called(std::string_view id) {
  return training_case(row_called(test::training_rows(), id), test::devices_once());
}

/// Memory of a process, by default without fitted terms.
ProcessMemory held_in(std::string_view id, const MemoryParameters& fitted = {}) {
  const TrainingCase c = case_called(id);
  return process_memory(c, c.memory.at(0), fitted);
}

const Accuracy& measured_memories() {
  static const Accuracy all = accuracy(published_measurements(MeasurementKind::training), AccuracyKind::memory);
  return all;
}

const ErrorSummary& family(const std::vector<ErrorGroup>& groups, const std::string& name) {
  return std::find_if(groups.begin(), groups.end(), [&](const ErrorGroup& g) { return g.text() == name; })->errors;
}

const std::vector<MemoryFitRow>& fit_rows_once() {
  static const auto rows = memory_fit_rows(published_measurements(MeasurementKind::training).training);
  return rows;
}

constexpr Count mib = Count{1} << 20;

}  // namespace

TEST_CASE("TransformerEngine keeps a buffer for every shape of weight gradients", "[memory]") {
  // Llama-3.1-405B on 8 tensor-parallel ranks: q, out, k and v of 16 heads of width 128, and three MLP matrices, in
  // bf16.
  const Count h = 16384, f = 53248, kv = 16 * 128;
  const ProcessMemory m = held_in("simumax-b200-llama3_405b_l4_tp8_pp1_dp1_mbc32_cef");
  CHECK(m.weight_gradients == Bytes(2 * (2 * h * h + 2 * h * kv + 3 * h * f) / 8));
  CHECK(m.workspaces == Bytes(64 * mib));
  CHECK_FALSE(m.buckets.has_value());
  CHECK_FALSE(m.process.has_value());
  // Expert matrices count once for any number of experts; a shared expert has the same shapes; the router has no
  // buffer. DeepSeek-V3: 128 heads, latent rows of 1536 and 512 + 64; experts of 2048, a dense MLP of 18432.
  const Count d = 7168, attention = d * 1536 + 1536 * 128 * 192 + d * 576 + 512 * 128 * 256 + 128 * 128 * d;
  const ProcessMemory v3 = held_in("simumax-b200-deepseekv3_l4_tp1_ep8_pp1_dp8_mbc32_cef");
  CHECK(v3.weight_gradients == Bytes(2 * (attention + 3 * d * 2048 + 3 * d * 18432)));
}

TEST_CASE("the head's weight gradient has a buffer during its computation", "[memory]") {
  // Llama-3.1-405B, four layers, S = 4096 in bf16, by hand; u is a tensor of (S, h). A layer saves its input, normed
  // input, q, attention core output, residual and normed residual (6 u), keys and values (2 x 2048 / 16384 u), gate, up
  // and their product (3 x 3.25 u). The head: its input and normed input (2 u), logits in bf16, its buffer. All of
  // these are sharded across 8 ranks. The re-gathered normed input and its unreduced gradient are whole. Megatron-LM
  // pads the vocabulary of 128,256 to a multiple of 128 x 8.
  constexpr double vocabulary = 126 * 128 * 8;
  const double u = 2.0 * 4096 * 16384, logits = 2.0 * 4096 * vocabulary, buffer = 2.0 * 16384 * vocabulary;
  const double layer = (6 + 0.25 + 3 * 3.25) * u;
  const double numbers =
      4 * (2.0 * 16384 * 16384 + 2.0 * 16384 * 2048 + 3.0 * 16384 * 53248) + 2.0 * 16384 * vocabulary;
  const ProcessMemory m = held_in("simumax-b200-llama3_405b_l4_tp8_pp1_dp1_mbc32_cef");
  const double states = 18 * numbers, alive = 4 * layer + 2 * u + logits + buffer;
  const double without = static_cast<double>((m.tensors + *m.loss).value);
  // The count by hand excludes norms' weights and statistics, and log-sum-exps.
  CHECK(std::fabs(without / ((states + alive) / 8 + 2 * u) - 1) < 0.001);
  // The measured value is 38.57 GiB.
  CHECK(std::fabs(static_cast<double>(total(m).value) / (38.57 * 0x1p30) - 1) < 0.003);
}

TEST_CASE("DeepSpeed holds copies of gradients during the optimizer step", "[memory]") {
  // Without ZeRO: two float32 copies of the gradients, of which only the part above the step's preceding peak counts.
  const TrainingCase c = case_called("bloom-181B-L72-h14336-a64-tp8-pp12-dp4-mbs2-gbs2048-02-21-zero0");
  const ProcessMemory none = process_memory(c, c.memory.at(0), {});
  const Count h = 14336, layer = (12 * h * h + 7 * h) / 8 + 6 * h;
  REQUIRE(none.update.has_value());
  // 6 layers, a table of 250880 rows and one of 2048 positions: 16 bytes of states and 8 of copies per parameter
  const double trained = static_cast<double>(6 * layer + 250880 * h / 8 + 2048 * h);
  CHECK(std::fabs(static_cast<double>((none.tensors + *none.update).value) / (24 * trained) - 1) < 0.001);
  CHECK(none.buckets == Bytes(1'000'000'000));  // 5e8 gradients in fp16
  // bf16: a second copy of all gradients in bf16, and a float32 copy of the largest one, the embedding table's.
  const ProcessMemory wide = held_in("bloom-176B-L70-h14336-a64-tp4-pp12-dp8-mbs4-gbs2048-02-28");
  const double table = 250880.0 * 14336 / 4, block = 12.0 * 14336 * 14336 / 4;
  REQUIRE(wide.weight_gradients.has_value());
  CHECK(std::fabs(static_cast<double>(wide.weight_gradients->value) / (2 * (6 * block + table) + 4 * table) - 1) < 0.2);
  CHECK(wide.buckets == Bytes(2'000'000'000));  // in float32
}

TEST_CASE("torchtitan saves the output of every second matmul and recomputes the rest", "[memory]") {
  // Llama-3.1-8B, 2 x 8192 tokens: q, v, gate and down (the 1st, 3rd, 5th, 7th) and the attention core's output in
  // bf16, and its log-sum-exps in float32.
  const Count tokens = 2 * 8192, numbers = 4096 + 1024 + 14336 + 4096 + 4096;
  const ProcessMemory m = held_in("titan-8b-128-fsdp");
  CHECK(m.products == Bytes(32 * tokens * (2 * numbers + 4 * 32)));
  CHECK(m.workspaces == Bytes(32 * mib));
  // The unfused loss needs 10 bytes per logit in addition to the 2 bytes of the logit. Since 2025, the compiled loss
  // needs only 2 additional bytes.
  const Count logits = tokens * 128256;
  REQUIRE(m.loss.has_value());
  CHECK((*m.loss > Bytes(9 * logits) && *m.loss <= Bytes(10 * logits)));
  CHECK(held_in("titan-8b-128-fsdp-compile").loss == m.loss);
  CHECK(*held_in("titan-trainy-8b-h200-64").loss <= Bytes(2 * logits));
}

TEST_CASE("in a pipeline, FSDP holds gradients of all weights in float32", "[memory]") {
  const ProcessMemory m = held_in("titan-405b-512-1f1b");
  // 405e9 weights over 8 stages and 8 tensor-parallel ranks
  REQUIRE(m.weight_gradients.has_value());
  CHECK(std::fabs(static_cast<double>(m.weight_gradients->value) / (4 * 405e9 / 64) - 1) < 0.05);
}

TEST_CASE("unit, devices and kind of a measured memory figure follow from its source", "[memory]") {
  // GB from nvidia-smi and torchtitan are 2^30 bytes. Observed memory is from the first node.
  CHECK(case_called("bigscience-1b3-v100-32gb-tp1-pp4-dp2-mbs8-ckpt").memory.at(0).bytes == 13 * 0x1p30);
  CHECK(case_called("bigscience-1b3-v100-32gb-tp1-pp4-dp2-mbs8-ckpt").memory.at(0).devices == 4);
  CHECK(case_called("titan-mxfp8-8b-b200-bf16").memory.at(0).bytes == 33.71 * 0x1p30);
  CHECK(case_called("zerobubble-6.2b-m24-1f1b").memory.at(0).bytes == 39e9);
  CHECK_FALSE(case_called("internevo-mem-20b-16gpu-tp1-pp16").memory.at(0).stated);
  // The last of four stages has the logits and is on the second node.
  const TrainingCase c = case_called("bigscience-1b3-v100-32gb-tp1-pp4-dp2-mbs8-ckpt");
  MeasuredMemory everywhere = c.memory.at(0);
  everywhere.devices = 0;
  CHECK(total(process_memory(c, everywhere, {})) > total(process_memory(c, c.memory.at(0), {})));
}

TEST_CASE("three fitted parameters determine slack and process memory", "[memory]") {
  const MemoryParameters p{.reserved = 0.1, .fragmented = 0.25, .process = 2e9};
  const std::string_view smi = "bigscience-1b3-v100-32gb-tp1-pp1-dp8-mbs1-ckpt";
  const Bytes bare = total(held_in(smi));
  CHECK(held_in(smi, p).process == Bytes(2'000'000'000));
  CHECK(held_in(smi, p).slack == Bytes(std::llround(0.25 * static_cast<double>(bare.value))));
  const ProcessMemory reserved = held_in("titan-8b-128-fsdp", p);
  CHECK_FALSE(reserved.process.has_value());
  CHECK(reserved.slack == Bytes(std::llround(0.1 * static_cast<double>(total(held_in("titan-8b-128-fsdp")).value))));
  CHECK_FALSE(held_in("zerobubble-6.2b-m24-1f1b", p).slack.has_value());
  // The fit uses the same formula.
  CHECK(predicted_bytes({.family = "", .process = true, .bytes = 8, .measured = 1},
                        {.fragmented = 0.5, .process = 3}) == 15);
  CHECK(predicted_bytes({.family = "", .reserved = true, .bytes = 8, .measured = 1}, {.reserved = 0.5}) == 12);
}

TEST_CASE("a run that would not fit otherwise is assumed to recompute all layers", "[memory]") {
  const TrainingCase c = case_called("titan-nvfp4-llama3-8b-nvfp4");
  CHECK_FALSE(c.recomputed.stated());
  CHECK_FALSE(process_memory(c, c.memory.at(0), {}).products.has_value());
  CHECK(held_in("titan-nvfp4-qwen3-8b-bf16").products.has_value());
}

TEST_CASE("the parts of a memory prediction add up to the total", "[memory]") {
  for (const PredictedRow& r : measured_memories().rows) {
    double sum = 0;
    for (const PredictedPart& part : r.parts) sum += part.value;
    CHECK(sum == r.predicted.value);
  }
}

TEST_CASE("memory predictions are as accurate as documented", "[memory]") {
  const std::vector<ErrorGroup> groups = error_groups(measured_memories());
  CHECK(family(groups, "all rows").median < 0.027);
  for (const auto& [name, median] : std::map<std::string, double>{{"family: SimuMax B200 real runs", 0.007},
                                                                  {"family: Zero Bubble PP paper", 0.011},
                                                                  {"family: BigScience BLOOM sizing (A100)", 0.045},
                                                                  {"family: BigScience 1.3B (V100)", 0.08},
                                                                  {"family: torchtitan", 0.085},
                                                                  {"family: Qwen fine-tuning profile", 0.125},
                                                                  {"family: InternEvo", 0.11}}) {
    INFO(name);
    CHECK(family(groups, name).median < median);
  }
  CHECK(*family(groups, "all rows").coverage > 0.9);
}

TEST_CASE("the shipped memory parameters are the result of the fit", "[memory]") {
  const MemoryEstimate fitted = fitted_memory(fit_rows_once());
  const MemoryEstimate& shipped = memory_estimate();
  CHECK(std::fabs(fitted.parameters.reserved - shipped.parameters.reserved) < 1e-9);
  CHECK(std::fabs(fitted.parameters.fragmented - shipped.parameters.fragmented) < 1e-9);
  CHECK(fitted.parameters.process == shipped.parameters.process);
  for (const auto& c : choices<MemoryClass>) {
    INFO(c.name);
    CHECK(shipped.interval(c.value).factor == Approx(fitted.interval(c.value).factor).epsilon(1e-3));
    CHECK(fitted.interval(c.value).families == shipped.interval(c.value).families);
  }
}

TEST_CASE("each family is predicted by a fit without it, and rows of an unknown memory kind are not fitted",
          "[memory]") {
  // Two families use 1.1 and 1.2 times the tensors' memory. Each is predicted by a fit to the other one.
  std::vector<MemoryFitRow> rows;
  for (const auto& [name, times] : std::map<std::string, double>{{"a", 1.1}, {"b", 1.2}})
    rows.push_back({.family = name, .reserved = true, .bytes = 100, .measured = 100 * times});
  const MemoryEstimate e = fitted_memory(rows);
  CHECK(e.interval(MemoryClass::allocator).families == 2);
  CHECK(e.interval(MemoryClass::allocator).factor == Approx(1.2 / 1.1 * std::exp(0.01)));
  CHECK(fit_memory({rows[0]}).reserved == Approx(0.1));
  // A row with an unstated kind of memory is not used in the fit.
  rows[1].stated = false;
  CHECK(fit_memory(rows).reserved == Approx(0.1));
}
