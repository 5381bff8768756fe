// Rows of training whose keys the published rows do not have.

#include "evidence/accuracy.hpp"
#include "evidence/training_case.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Contains;

namespace {

/// A file of one row: a step of a model on eight devices.
MeasurementFile file_of(const std::string& model, const std::string& gpu = "H100-SXM5-80GB") {
  return read_measurements(R"([{"id": "t", "family": "F", "source": {"title": "s"}, "model": {"name": "a model",
    "layers": 12, "hidden": 2048, "heads": 16, "kv_heads": 16, "ffn_hidden": 8192, "seq_len": 4096, "glu": true, )" +
                               model + R"(}, "hardware": {"gpu": ")" + gpu + R"(", "count": 8, "nodes": 1},
    "parallelism": {"dp": 8, "fsdp": true}, "batch": {"micro": 1, "global": 8}, "precision": "bf16",
    "recompute": "none", "attention": "FlashAttention 2", "software": "torchtitan",
    "measured": {"iteration_time_s": 1.0}}])",
                           "f");
}
TrainingCase read(const std::string& model) { return training_case(file_of(model).training.at(0), devices_once()); }

const std::string vocabulary = R"("vocab": 32000)";

}  // namespace

TEST_CASE("widths of latent attention have the keys of a config, or short ones", "[training-reading]") {
  for (const char* keys :
       {R"({"q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
                               "v_head_dim": 96})",
        R"({"q_lora": 768, "kv_lora": 512, "qk_nope": 128, "qk_rope": 64, "v": 96})",
        R"({"q_lora": 768, "kv_lora_rank": 512, "qk_nope": 128, "qk_rope_head_dim": 64, "v": 96})"}) {
    INFO(keys);
    const TrainingCase c = read(vocabulary + R"(, "mla": )" + keys);
    REQUIRE(c.skip == "");
    CHECK(c.arch.attention == AttentionKind::latent);
    CHECK(c.arch.latent == Latent{768, 512, 128, 64, 96});
    CHECK(file_of(vocabulary + R"(, "mla": )" + keys).unknown_keys.empty());
  }
}

TEST_CASE("a key of latent attention that is not known refuses no file", "[training-reading]") {
  for (const char* mla : {R"({"rank": 512})", "true", R"("yes, rank 512")"}) {
    INFO(mla);
    CHECK(read(vocabulary + R"(, "mla": )" + mla).skip == "latent attention whose widths are not stated");
  }
  for (const char* none : {"null", "false", R"("none")", "{}"}) {
    INFO(none);
    const TrainingCase c = read(vocabulary + R"(, "mla": )" + none);
    CHECK(c.skip == "");
    CHECK_FALSE(c.arch.attention == AttentionKind::latent);
  }
}

TEST_CASE("shared experts are counted, and a width of their own is of all together", "[training-reading]") {
  const auto moe = [](const std::string& shared) {
    return read(vocabulary + R"(, "moe": {"experts": 64, "top_k": 6, "expert_ffn": 1408)" + shared + "}").arch.moe;
  };
  CHECK(moe("").shared_experts == 0);
  CHECK((moe(R"(, "shared_experts": 2)").shared_experts == 2 && moe(R"(, "shared_experts": 2)").shared_width == 1408));
  CHECK(moe(R"(, "shared_experts": 0)").shared_experts == 0);
  for (const char* together : {R"(, "shared_ffn": 2816)", R"(, "shared_experts": 2, "shared_ffn": 2816)"}) {
    CHECK(moe(together).shared_experts == 1);
    CHECK(moe(together).shared_width == 2816);
  }
  CHECK(moe(R"(, "shared_experts": 2, "shared_expert_ffn": 1408)").shared_experts == 2);
}

TEST_CASE("windows of training have keys of their own", "[training-reading]") {
  for (const char* pattern : {R"("sliding_window_pattern": 6)", R"("sliding_pattern": "5:1")",
                              R"("sliding_pattern": "every 6th layer global")"}) {
    INFO(pattern);
    const TrainingCase c = read(vocabulary + R"(, "sliding_window": 1024, )" + pattern);
    REQUIRE(c.skip == "");
    CHECK((c.arch.local.reach.tokens == 1024 && c.arch.local.layers.size() == 10));
    CHECK_FALSE(c.input_assumed);
  }
  const TrainingCase open = read(vocabulary + R"(, "sliding_window": 1024)");
  CHECK(open.arch.local.layers.size() == 12);
  CHECK_THAT(open.assumed, Catch::VectorContains(std::string(
                               "a window of 1024 tokens in every layer: the row does not state which layers have it")));
}

TEST_CASE("a vocabulary that a row does not state is an assumed input", "[training-reading]") {
  CHECK_FALSE(read(vocabulary).input_assumed);
  const TrainingCase c = read(R"("vocab": null)");
  CHECK(c.input_assumed);
  CHECK(c.arch.vocabulary == 51200);
  CHECK_FALSE(training_case(row_called(training_rows(), "vtrain-single-0000"), devices_once()).input_assumed);
}

TEST_CASE("a row on a device of a kind that was seldom measured says what is assumed", "[training-reading]") {
  const auto predicted = [](const char* gpu) {
    return accuracy(file_of(vocabulary, gpu), AccuracyKind::training).rows.at(0);
  };
  const PredictedRow amd = predicted("AMD Instinct MI355X");
  CHECK(amd.of.kind == "assumed input");
  REQUIRE(amd.assumed.size() == 1);
  CHECK_THAT(amd.assumed[0], Contains("too few rows of the fit were measured on its kind"));
  CHECK(predicted("H100-SXM5-80GB").assumed.empty());
}
