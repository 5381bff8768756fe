// Training rows with keys that the published rows lack.

#include "evidence/accuracy.hpp"
#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/convert/words/cluster_words.hpp"
#include "evidence/rows/training_case.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Contains;

namespace {

/// A file with one row: a step of a model on eight devices.
OldFile file_of(const std::string& model, const std::string& gpu = "H100-SXM5-80GB") {
  return read_old_file(R"([{"id": "t", "family": "F", "source": {"title": "s"}, "model": {"name": "a model",
    "layers": 12, "hidden": 2048, "heads": 16, "kv_heads": 16, "ffn_hidden": 8192, "seq_len": 4096, "glu": true, "tied_embeddings": false,
    "head_dim": 128, )" + model +
                           R"(}, "hardware": {"gpu": ")" + gpu + R"(", "count": 8, "nodes": 1},
    "parallelism": {"dp": 8, "fsdp": true}, "batch": {"micro": 1, "global": 8}, "precision": "bf16",
    "recompute": "none", "attention": "FlashAttention 2", "software": "torchtitan",
    "measured": {"iteration_time_s": 1.0}}])",
                       "f");
}
TrainingCase read(const std::string& model) { return training_case(file_of(model).training.at(0), devices_once()); }

const std::string vocabulary = R"("vocab": 32000)";

}  // namespace

TEST_CASE("latent-attention dimensions may use the keys of config.json or shorter keys", "[training-reading]") {
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

TEST_CASE("unknown latent-attention keys are accepted", "[training-reading]") {
  for (const char* mla : {R"({"rank": 512})", "true", R"("yes, rank 512")"}) {
    INFO(mla);
    CHECK(read(vocabulary + R"(, "mla": )" + mla).skip == "the widths of latent attention are not stated");
  }
  for (const char* none : {"null", "false", R"("none")", "{}"}) {
    INFO(none);
    const TrainingCase c = read(vocabulary + R"(, "mla": )" + none);
    CHECK(c.skip == "");
    CHECK_FALSE(c.arch.attention == AttentionKind::latent);
  }
}

TEST_CASE("a shared-expert width that differs from the routed experts' is the total of all shared experts",
          "[training-reading]") {
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

TEST_CASE("sliding windows of a training row are read from separate keys", "[training-reading]") {
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

TEST_CASE("an unstated vocabulary of a training row is an assumed input", "[training-reading]") {
  CHECK_FALSE(read(vocabulary).input_assumed);
  const TrainingCase c = read(R"("vocab": null)");
  CHECK(c.input_assumed);
  CHECK(c.arch.vocabulary == 51200);
  CHECK_FALSE(training_case(row_called(training_rows(), "vtrain-single-0000"), devices_once()).input_assumed);
}

TEST_CASE("a row on a rarely measured kind of device has a note and counts as an assumed input", "[training-reading]") {
  const auto predicted = [](const char* gpu) {
    MeasurementFile file;
    file.training.push_back(training_case(file_of(vocabulary, gpu).training.at(0), devices_once()));
    return accuracy(file, AccuracyKind::training).rows.at(0);
  };
  const PredictedRow amd = predicted("AMD Instinct MI355X");
  CHECK(amd.of.kind == "assumed input");
  REQUIRE(amd.assumed.size() == 1);
  CHECK_THAT(amd.assumed[0], Contains("the fit has too few rows measured on this kind of device"));
  CHECK(predicted("H100-SXM5-80GB").assumed.empty());
}

namespace {

/// A row with the given shape keys.
TrainingCase read_as(const std::string& shape) {
  OldFile f = read_old_file(R"([{"id": "t", "family": "F", "source": {"title": "s"}, "model": {)" + shape +
                                R"(}, "hardware": {"gpu": "H100-SXM5-80GB", "count": 64, "nodes": 8},
    "parallelism": {"dp": 64, "fsdp": true}, "batch": {"micro": 1, "global": 64}, "precision": "bf16",
    "recompute": "none", "attention": "FlashAttention 2", "software": "torchtitan",
    "measured": {"iteration_time_s": 10.0}}])",
                            "f");
  const TrainingCase c = training_case(f.training.at(0), devices_once());
  REQUIRE(c.skip == "");
  return c;
}

bool says(const TrainingCase& c, const std::string& words) {
  return std::any_of(c.assumed.begin(), c.assumed.end(),
                     [&](const std::string& s) { return s.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("missing dimensions of a row come from the model's preset", "[training-reading]") {
  const TrainingCase c = read_as(R"("name": "Qwen3-32B", "layers": 64, "hidden": 5120, "heads": 64, "kv_heads": null,
    "head_dim": null, "ffn_hidden": 25600, "vocab": 151936, "seq_len": 4096, "glu": null, "tied_embeddings": null)");
  CHECK((c.arch.head_dim == 128 && c.arch.kv_heads == 8 && c.arch.mlp == MlpKind::gated && !c.arch.tied_head));
  CHECK_FALSE(c.input_assumed);
  const TrainingCase experts = read_as(R"("name": "Qwen3-30B-A3B", "layers": 48, "hidden": 2048, "heads": 32,
    "kv_heads": 4, "head_dim": 128, "ffn_hidden": 6144, "vocab": null, "seq_len": 4096, "glu": true,
    "moe": {"experts": 128, "top_k": null, "expert_ffn": null})");
  CHECK((experts.arch.moe.width == 768 && experts.arch.moe.top_k == 8 && experts.arch.vocabulary == 151936));
  CHECK_FALSE(experts.input_assumed);
}

TEST_CASE("dimensions in neither the row nor a preset are assumed and reduce the row's weight", "[training-reading]") {
  const std::string shape = R"("name": "a model of ours", "layers": 12, "hidden": 2560, "heads": 32, "kv_heads": 32,
    "ffn_hidden": 8192, "vocab": 32000, "seq_len": 4096)";
  const TrainingCase narrow = read_as(shape + R"(, "glu": true)");
  CHECK((narrow.arch.head_dim == 80 && narrow.input_assumed));
  CHECK(says(narrow, "a head size of 80"));
  const TrainingCase plain = read_as(shape + R"(, "head_dim": 128)");
  CHECK((plain.arch.mlp == MlpKind::plain && plain.input_assumed));
  CHECK(says(plain, "MLPs of two matrices: the row does not state \"glu\""));
  CHECK(says(plain, "\"tied_embeddings\""));
  const TrainingCase experts = read_as(shape + R"(, "head_dim": 128, "glu": true, "moe": {"experts": 8, "top_k": 2})");
  CHECK((experts.arch.moe.width == 8192 && experts.input_assumed));
  CHECK(says(experts, "experts as wide as a dense MLP (8192)"));
}

TEST_CASE("the experts of a training row may also use the keys of inference rows and of config.json",
          "[training-reading]") {
  const auto moe = [](const std::string& said) { return read(vocabulary + R"(, "moe": )" + said); };
  for (const char* said : {R"({"num_experts": 64, "experts_per_token": 6, "moe_ffn": 1408, "first_dense_layers": 1})",
                           R"({"n_routed_experts": 64, "num_experts_per_tok": 6, "moe_intermediate_size": 1408,
                               "first_k_dense_replace": 1})",
                           R"({"experts": 64, "top_k": 6, "expert_ffn": 1408, "dense_layers": [0]})"}) {
    INFO(said);
    const Arch a = moe(said).arch;
    CHECK((a.moe.experts == 64 && a.moe.top_k == 6 && a.moe.width == 1408 && a.moe.layers.size() == 11));
  }
  for (const char* none : {"false", "{}", "null"}) CHECK_FALSE(moe(none).arch.has_experts());
  CHECK(moe(R"({"experts": 64, "top_k": 6, "expert_ffn": 1408, "dense_layers": [0, 1, 2]})").arch.moe.layers.size() ==
        9);
  CHECK(moe(R"({"experts": 64, "top_k": 6, "expert_ffn": 1408, "dense_layers": [3, 7]})").skip ==
        "dense layers [3,7] are not the first layers");
}

TEST_CASE("an unknown optimizer is replaced by one with the same number of states", "[training-reading]") {
  TrainingRow row = file_of(vocabulary).training.at(0);
  const auto with = [&](const char* optimizer) {
    row.optimizer = optimizer;
    return training_case(row, devices_once());
  };
  CHECK(with("FusedLAMB").plan.optimizer == Optimizer::adam);
  CHECK(with("Adagrad").plan.optimizer == Optimizer::momentum);
  CHECK(says(with("LAMB"), "optimizer states of adam, equal in number to the states of \"LAMB\""));
  CHECK(with("SOAP").skip != "");  // needs additional matmuls
  CHECK(with("precision-aware adam (bf16 moments)").plan.state_precision == dtypes::bf16);
  CHECK(with("precision-aware adam").input_assumed);
}

TEST_CASE("memory measured for part of a step is not compared with that of the whole step", "[training-reading]") {
  TrainingRow row = file_of(vocabulary).training.at(0);
  row.measured.memory_per_gpu_gib = 20;
  const auto with = [&](const char* kind) {
    row.measured.memory_kind = kind;
    return training_case(row, devices_once());
  };
  for (const char* part : {"activation memory", "model states only (no activations)", "theoretical"}) {
    INFO(part);
    CHECK(with(part).memory.empty());
    CHECK(with(part).no_memory != "");
  }
  CHECK(with("peak memory active (torch)").memory.size() == 1);
  CHECK(with("DCGM FB used").memory.at(0).kind == MemoryKind::process);
}

TEST_CASE("training rows whose notes mention unmodeled features are skipped", "[training-reading]") {
  TrainingRow row = file_of(vocabulary).training.at(0);
  for (const char* note : {"CPU offload", "ZeRO-Infinity NVMe", "packed sequences", "DPO", "RLHF", "MTP depth 1"}) {
    INFO(note);
    row.notes = note;
    CHECK(training_case(row, devices_once()).skip != "");
  }
  for (const char* note : {"no CPU offload", "without packed sequences", "no MTP"}) {
    INFO(note);
    row.notes = note;
    CHECK(training_case(row, devices_once()).skip == "");
  }
}

TEST_CASE("devices without NVLink communicate over PCI Express, and NVLink bridges connect pairs",
          "[training-reading]") {
  const auto bandwidth = [](const char* inside, Count count) {
    HardwareSaid said;
    said.device = "A100-PCIe";
    said.memory_gb = 80;
    said.inside = inside;
    said.count = count;
    const RowCluster on = cluster_of(said, devices_once());
    CHECK((on.assumed.empty() || std::string(inside).find("bridge") != std::string::npos));
    return std::pair(on.hardware.cluster.levels[0].bandwidth, on.hardware.pcie);
  };
  for (const char* none : {"no NVLink", "none", "PCIe 4.0 x16", "NVLink bridge (pairs)"}) {
    INFO(none);
    const auto [link, pcie] = bandwidth(none, 8);
    CHECK(link == pcie);
  }
  const auto [pair, pcie] = bandwidth("NVLink bridge (pairs)", 2);
  CHECK(pair.value > pcie.value);
}
