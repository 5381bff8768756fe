#include <cmath>

#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/convert/words/flops_convention.hpp"
#include "evidence/rows/training_case.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

double step_of(const TrainingRow& row) {
  const TrainingCase c = training_case(row, devices_once());
  REQUIRE(c.skip.empty());
  REQUIRE(c.step);
  return c.step->value;
}
double step_called(const char* id) { return step_of(row_called(training_rows(), id)); }

/// The row with only one of its measured times and rates.
TrainingRow only(TrainingRow row, std::optional<double> TrainingMeasured::*rate) {
  const auto saved = row.measured.*rate;
  const std::string kind = row.measured.tflops_kind;
  row.measured = {};
  row.measured.tflops_kind = kind;
  row.measured.*rate = saved;
  return row;
}

bool near(double a, double b) { return std::fabs(a / b - 1) < 1e-12; }

}  // namespace

TEST_CASE("a FLOPs convention is recognized by its formula", "[convention]") {
  const auto formula = [](const char* text) { return flops_convention(text).formula; };
  CHECK(formula("hardware:96BsLh^2(1+s/6h+V/16Lh)") == FlopsFormula::hardware_96);
  CHECK(formula("model:72BLsh^2(1+s/6h+V/12Lh) full attention") == FlopsFormula::model_72);
  CHECK(formula("model:6N+12Lhs (N includes embeddings once)") == FlopsFormula::six_n);
  CHECK(formula("model:6*s*N+12*L*h*s^2 (full attention)") == FlopsFormula::six_n);
  CHECK(formula("model, causal attention counted at half") == FlopsFormula::half_attention);
  CHECK(formula("estimate: N*4*2*tokens with N=1.3B (no attention term)") == FlopsFormula::eight_n);
  CHECK(formula("estimate: N*3*2*tokens with N=1.3B (no attention term)") == FlopsFormula::plain_six_n);
  CHECK(formula("model, full attention: s*(12Lh^2(1+kv/a+s/h)+18Lfh)") == FlopsFormula::by_matrix);
  for (const char* plain : {"model:6N", "6ND", "model: 6*N*D", "6 N D", "6N (attention left out)", "6N per token",
                            "model:6N, no attention"}) {
    INFO(plain);
    CHECK(formula(plain) == FlopsFormula::plain_six_n);
    CHECK_FALSE(flops_convention(plain).non_embedding);
  }
  CHECK(formula("PaLM MFU") == FlopsFormula::six_n);
  CHECK(formula("6N with attention") == FlopsFormula::six_n);
  CHECK(formula("6N + 6Lhs (causal)") == FlopsFormula::half_attention);
  CHECK(formula("model, causal") == FlopsFormula::half_attention);
  CHECK(formula("hardware, 8ND") == FlopsFormula::eight_n);
  CHECK(flops_convention("model:6N non-embedding").non_embedding);
  CHECK(formula("none") == FlopsFormula::unknown);
  CHECK(flops_convention("estimate: N*4*2*tokens with N=1.3B").params == 1.3e9);
  CHECK(flops_convention("6N+12Lhs, / 312 TF").peak_tflops == 312);
  CHECK_FALSE(flops_convention("MFU against 989 TF (H100) / 312 TF (A100)").peak_tflops);
}

TEST_CASE("6N excludes attention, and with non-embedding parameters it also excludes the embeddings", "[convention]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.measured = {};
  row.measured.tflops_per_gpu = 100;
  row.model.params_reported = std::nullopt;
  const auto flops = [&](const char* said) {
    row.flops_convention = said;
    return step_of(row) * 8 * 100e12;
  };
  // GPT-2: 12 (12 h^2 + 13 h) + 2 h in blocks and the last norm, (50304 + 1024) h in tables; 512 x 1024 tokens.
  const double h = 768, inside = 12 * (12 * h * h + 13 * h) + 2 * h, tokens = 512 * 1024;
  const double vocabulary = static_cast<double>(training_case(row, devices_once()).arch.vocabulary);
  CHECK(near(flops("model:6ND"), 6 * tokens * (inside + (vocabulary + 1024) * h)));
  CHECK(near(flops("model:6N non-embedding"), 6 * tokens * inside));
}

TEST_CASE("the step time is computed from tokens or samples per second", "[convention]") {
  // 8192 sequences of 2048 tokens at 2,535,811 tokens/s over all devices.
  CHECK(near(step_called("mosaic-13b-s2048-512xh100_80gb-mbs16"), 8192.0 * 2048 / 2535811));
  // 16 sequences of 8192 tokens on 8 devices at 8532 tokens/s each.
  CHECK(near(step_called("titan-8b-8-fsdp-compile-fp8"), 16.0 * 8192 / (8 * 8532.0)));
  // 72 samples at 34.56 samples/s.
  CHECK(near(step_called("zerobubble-6.2b-m24-zb-2p"), 72 / 34.56));
  CHECK(step_called("korthikanti-22B-full") == 1.42);
}

TEST_CASE("the step time is computed from FLOP/s with the row's FLOPs formula", "[convention]") {
  // Narayanan et al., eq. 3: 96 B s L h^2 (1 + s/6h + V/16Lh); B 512, s 2048, L 24, h 2304, V 51200; 32 x 137 TFLOP/s.
  CHECK(near(step_called("sc21-t1-1.7B"), 96.0 * 512 * 2048 * 24 * 2304 * 2304 *
                                              (1 + 2048 / (6.0 * 2304) + 51200 / (16.0 * 24 * 2304)) / (32 * 137e12)));
  // Megatron-LM README: 72 B s L h^2 (1 + s/6h + V/12Lh); B 192, s 4096, L 24, h 2048, V 131072; 48 x 408.8 TFLOP/s.
  CHECK(near(step_called("megatron-h100-weak-1.7B"), 72.0 * 192 * 4096 * 24 * 2048 * 2048 *
                                                         (1 + 4096 / (6.0 * 2048) + 131072 / (12.0 * 24 * 2048)) /
                                                         (48 * 408.8e12)));
  // Dao 2023: 6 s N + 12 L h s^2 for each of the 1024 assumed sequences; N of GPT-3 1.3B with 2048 positions: 24 (12
  // h^2 + 13 h) + 2 h + (50257 + 2048) h.
  const double h = 2048, n = 24 * (12 * h * h + 13 * h) + 2 * h + (50257 + 2048) * h;
  CHECK(near(step_called("fa2-gpt3-1.3b-s2048-noflash"),
             1024 * (6 * 2048 * n + 12 * 24 * h * 2048 * 2048) / (8 * 142e12)));
}

TEST_CASE("the step time is computed from an MFU and the device's peak", "[convention]") {
  // 42 % of 989.4 TFLOP/s; B 1152, s 4096, L 96, h 12288, V 131072.
  CHECK(near(step_called("megatron-h100-strong-177B-4608"),
             72.0 * 1152 * 4096 * 96 * 12288 * 12288 * (1 + 4096 / (6.0 * 12288) + 131072 / (12.0 * 96 * 12288)) /
                 (4608 * 0.42 * 989.4e12)));
}

TEST_CASE("with full recomputation, hardware FLOP/s are a third higher than model FLOP/s", "[convention]") {
  TrainingRow row = row_called(training_rows(), "sc21-t1-1.7B");
  const double hardware = step_of(row);
  row.measured.tflops_kind = "model";
  CHECK(near(step_of(row), hardware * 3 / 4));
}

TEST_CASE("rows that state both a time and a rate yield the same step time from either", "[convention]") {
  struct Family {
    const char* name;
    std::optional<double> TrainingMeasured::*rate;
    double within;  ///< tolerance for the rounding of printed values
  };
  // Tolerances: printed values have three digits; BLOOM's tables give times of one iteration and mean rates; the
  // formula of DGXC's rows does not include latent attention, a difference of 3.4 %.
  const Family families[] = {
      {"Aleph Alpha layouts sweep", &TrainingMeasured::mfu, 0.01},
      {"MosaicML llm-foundry", &TrainingMeasured::mfu, 0.001},
      {"MosaicML llm-foundry", &TrainingMeasured::tokens_per_s_per_gpu, 0.001},
      {"MT-NLG 530B", &TrainingMeasured::tflops_per_gpu, 0.01},
      {"BigScience BLOOM sizing (A100)", &TrainingMeasured::tflops_per_gpu, 0.05},
      {"BigScience 1.3B (V100)", &TrainingMeasured::tflops_per_gpu, 0.03},
      {"NVIDIA DGXC benchmarking", &TrainingMeasured::mfu, 0.035},
      {"nanoGPT", &TrainingMeasured::mfu, 0.03},
      {"Korthikanti et al. 2022", &TrainingMeasured::mfu, 0.01},
  };
  for (const Family& f : families)
    for (const TrainingRow& row : training_rows()) {
      const auto& m = row.measured;
      if (row.family != f.name || !(m.*(f.rate)) || !(m.iteration_time_s || m.tokens_per_s)) continue;
      INFO(row.id);
      const double step = step_of(row), again = step_of(only(row, f.rate));
      INFO(step << " s, " << again << " s by the rate");
      CHECK(std::fabs(again / step - 1) < f.within);
    }
}

TEST_CASE("computed step times agree with those derived in the dataset", "[convention]") {
  int compared = 0;
  for (const TrainingRow& row : training_rows()) {
    const TrainingCase c = training_case(row, devices_once());
    if (!c.skip.empty() || !c.step) continue;
    INFO(row.id);
    const double tokens = static_cast<double>(c.plan.global_batch) * static_cast<double>(c.plan.seq);
    if (row.derived_iteration_time_s) {
      ++compared;
      CHECK(std::fabs(c.step->value / *row.derived_iteration_time_s - 1) < 2e-3);  // rates have at least 3 digits
    }
    if (row.derived_tokens_per_s_per_gpu) {
      ++compared;
      const double rate = tokens / c.step->value / static_cast<double>(row.hardware.count);
      CHECK(std::fabs(rate / *row.derived_tokens_per_s_per_gpu - 1) < 2e-3);
    }
  }
  CHECK(compared > 600);
}
