#include "evidence/training_case.hpp"

#include <map>
#include <numeric>

#include "calc/train.hpp"
#include "evidence/attention_layers.hpp"
#include "evidence/network_rate.hpp"
#include "evidence/stage_split.hpp"
#include "evidence/training_layout.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Contains;

namespace {

TrainingCase case_called(const char* id) { return training_case(row_called(training_rows(), id), devices_once()); }

/// What a row of each family is, read off the row.
struct Read {
  const char *id, *device, *stack;
  Count layers, hidden, tp, pp, chunks, dp;
  Zero zero;
  Schedule schedule;
  Count micro, global, seq;
  Recompute recompute;
  AttentionImpl attention;
  const char* precision;
  bool assumed;  ///< whether an input is assumed that time depends on
};
constexpr auto f1b1 = Schedule::one_f_one_b;
constexpr Read reads[] = {
    {"korthikanti-22B-full", "a100-sxm-80gb", "megatron-lm", 48, 6144, 8, 1, 1, 1, Zero::none, f1b1, 4, 4, 2048,
     Recompute::full, AttentionImpl::naive, "bf16", false},
    {"korthikanti-530B-sp-selective-dp8", "a100-sxm-80gb", "megatron-lm", 105, 20480, 8, 35, 3, 8, Zero::none,
     Schedule::interleaved, 1, 2240, 2048, Recompute::selective, AttentionImpl::naive, "bf16", false},
    {"megatron-h100-weak-1.7B", "h100-sxm-80gb", "megatron-core", 24, 2048, 1, 1, 1, 48, Zero::optimizer, f1b1, 4, 192,
     4096, Recompute::none, AttentionImpl::flash, "bf16", true},
    {"sc21-t1-1.7B", "a100-sxm-80gb", "megatron-lm", 24, 2304, 1, 1, 1, 32, Zero::none, f1b1, 16, 512, 2048,
     Recompute::full, AttentionImpl::naive, "fp16", false},
    {"sc21-t2-zero3-174.6B-384", "a100-sxm-80gb", "deepspeed", 96, 12288, 1, 1, 1, 384, Zero::weights, f1b1, 4, 1536,
     2048, Recompute::full, AttentionImpl::naive, "fp16", false},
    {"mosaic-13b-s2048-512xh100_80gb-mbs16", "h100-sxm-80gb", "llm-foundry", 40, 5120, 1, 1, 1, 512, Zero::weights,
     f1b1, 16, 8192, 2048, Recompute::full, AttentionImpl::flash, "bf16", false},
    {"bloom-181B-L72-h14336-a64-tp8-pp12-dp4-mbs2-gbs2048-02-21", "a100-sxm-80gb", "megatron-deepspeed", 72, 14336, 8,
     12, 1, 4, Zero::optimizer, f1b1, 2, 2048, 2048, Recompute::full, AttentionImpl::naive, "fp16", false},
    {"bigscience-1b3-v100-32gb-tp1-pp1-dp8-mbs1-ckpt", "v100-sxm2-32gb", "megatron-deepspeed", 24, 2048, 1, 1, 1, 8,
     Zero::optimizer, f1b1, 1, 512, 2048, Recompute::full, AttentionImpl::naive, "fp16", false},
    {"aleph-30b-s8192-128g-tp4-pp4-mbs1-nockpt-fa2rms-t133008", "a100-sxm-80gb", "aleph-alpha", 60, 6656, 4, 4, 1, 8,
     Zero::optimizer, f1b1, 1, 512, 8192, Recompute::none, AttentionImpl::flash, "bf16", false},
    {"titan-8b-8-fsdp-compile-fp8", "h100-sxm-96gb-hbm2e", "torchtitan", 32, 4096, 1, 1, 1, 8, Zero::weights, f1b1, 2,
     16, 8192, Recompute::none, AttentionImpl::flash, "fp8", false},
    {"zerobubble-6.2b-m24-zb-2p", "a100-sxm-80gb", "megatron-lm", 30, 4096, 1, 8, 1, 1, Zero::none, Schedule::zb_2p, 3,
     72, 1024, Recompute::none, AttentionImpl::naive, "bf16", false},
    {"mlperf31-azure_nvidia-gpt3-nd_h100_v5_n1344_pytorch", "h100-sxm-80gb", "nemo", 96, 12288, 4, 8, 12, 336,
     Zero::optimizer, Schedule::interleaved, 1, 2688, 2048, Recompute::none, AttentionImpl::flash, "fp8", false},
    {"dgxc2502-gpt3-175b-h100-bf16-128", "h100-sxm-80gb", "nemo", 96, 12288, 4, 8, 12, 4, Zero::optimizer,
     Schedule::interleaved, 1, 256, 2048, Recompute::none, AttentionImpl::flash, "bf16", false},
    {"internevo-mem-20b-8gpu-tp1-pp1-fsdp", "a800-sxm-80gb", "internevo", 60, 5120, 1, 1, 1, 8, Zero::weights, f1b1, 1,
     32, 2048, Recompute::full, AttentionImpl::flash, "bf16", false},
    {"llmc-gpt2-124M", "a100-sxm-80gb", "llm.c", 12, 768, 1, 1, 1, 8, Zero::optimizer, f1b1, 64, 512, 1024,
     Recompute::none, AttentionImpl::flash, "bf16", false},
    {"nanogpt-124M-a100-40", "a100-sxm-40gb", "nanogpt", 12, 768, 1, 1, 1, 1, Zero::none, f1b1, 20, 100, 1024,
     Recompute::none, AttentionImpl::flash, "bf16", false},
    {"simumax-b200-llama3_70b_l12_tp1_pp2_dp4_mbc4_cef", "b200-sxm-180gb", "megatron-core", 12, 8192, 1, 2, 1, 4,
     Zero::optimizer, f1b1, 1, 16, 4096, Recompute::none, AttentionImpl::flash, "bf16", false},
    {"llmq-4090x1-qwen2.5-0.5b-fp8", "rtx-4090", "llmq", 24, 896, 1, 1, 1, 1, Zero::none, f1b1, 16, 512, 1024,
     Recompute::none, AttentionImpl::flash, "fp8", false},
    // 2^21 tokens a step are assumed: 8 x 16 x 2048 tokens, 8 times.
    {"tinyllama-1.1b", "a100-sxm-40gb", "lit-gpt", 22, 2048, 1, 1, 1, 16, Zero::weights, f1b1, 8, 1024, 2048,
     Recompute::none, AttentionImpl::flash, "bf16", true},
    {"fa2-gpt3-1.3b-s2048-noflash", "a100-sxm-80gb", "flash-attention", 24, 2048, 1, 1, 1, 8, Zero::none, f1b1, 8, 1024,
     2048, Recompute::none, AttentionImpl::naive, "bf16", true},
    {"mtnlg-530b-2240", "a100-sxm-80gb", "megatron-deepspeed", 105, 20480, 8, 35, 1, 8, Zero::optimizer, f1b1, 1, 1920,
     2048, Recompute::full, AttentionImpl::naive, "bf16", true},
    // A micro-batch of 16384 tokens is assumed, and 2^21 tokens a step, in whole rounds of 124 x 8 sequences.
    {"opt-175b", "a100-sxm-80gb", "metaseq", 96, 12288, 8, 1, 1, 124, Zero::weights, f1b1, 8, 992, 2048,
     Recompute::full, AttentionImpl::naive, "fp16", true},
    {"palm-540b", "tpu-v4", "jax", 118, 18432, 12, 1, 1, 512, Zero::weights, f1b1, 4, 2048, 2048, Recompute::full,
     AttentionImpl::naive, "bf16", true},
    {"llama-65b", "a100-sxm-80gb", "meta-llama", 80, 8192, 1, 1, 1, 2048, Zero::weights, f1b1, 1, 2048, 2048,
     Recompute::selective, AttentionImpl::flash, "bf16", true},
    {"vtrain-single-0000", "a100-sxm-80gb", "megatron-lm", 24, 1024, 1, 2, 1, 1, Zero::none, f1b1, 8, 16, 1024,
     Recompute::full, AttentionImpl::naive, "fp16", false},
    {"vtrain-multi-0088", "a100-sxm-80gb", "megatron-lm", 96, 12288, 4, 16, 1, 8, Zero::none, f1b1, 2, 1536, 2048,
     Recompute::full, AttentionImpl::naive, "fp16", false},
    {"mbridge-26.08-qwen3_30b_a3b-gb300-8-mxfp8-gbs512-mbs8-tp1-pp1-cp1-ep8", "gb300", "megatron-core", 48, 2048, 1, 1,
     1, 8, Zero::optimizer, f1b1, 8, 512, 4096, Recompute::none, AttentionImpl::flash, "mxfp8", true},
};

Count sum_of(const StageLayers& layers) { return std::accumulate(layers.begin(), layers.end(), Count{0}); }

}  // namespace

TEST_CASE("a row of every family is the architecture, plan and layout that it states", "[training-case]") {
  for (const Read& r : reads) {
    INFO(r.id);
    const TrainingCase c = case_called(r.id);
    REQUIRE(c.skip == "");
    CHECK(c.on.hardware.name == r.device);
    CHECK(c.stack.name == r.stack);
    CHECK((c.arch.layers == r.layers && c.arch.hidden == r.hidden));
    CHECK(ranks(c.layout, Group::tensor) == r.tp);
    CHECK(ranks(c.layout, Group::pipeline) == r.pp);
    CHECK((c.layout.chunks == r.chunks && c.layout.schedule == r.schedule));
    CHECK((replicas(c.layout) == r.dp && c.layout.zero == r.zero));
    CHECK((c.plan.micro_batch == r.micro && c.plan.global_batch == r.global && c.plan.seq == r.seq));
    CHECK(c.plan.recompute == r.recompute);
    CHECK(c.plan.attention == r.attention);
    CHECK(c.plan.precision.name() == r.precision);
    CHECK(c.input_assumed == r.assumed);
  }
}

TEST_CASE("the published training rows are the engine's inputs but for at most one in twenty", "[training-case]") {
  std::map<std::string, int> skipped;
  int steps = 0, memories = 0;
  for (const TrainingRow& row : training_rows()) {
    const TrainingCase c = training_case(row, devices_once());
    if (!c.skip.empty() || !c.no_step.empty()) ++skipped[c.skip.empty() ? c.no_step : c.skip];
    if (!c.skip.empty()) continue;
    steps += c.step.has_value();
    memories += !c.memory.empty();
    INFO(row.id);
    CHECK(devices(c.layout) == row.hardware.count);
    // The engine takes it: a time comes out.
    CHECK(train(c.arch, c.plan, c.layout, c.cluster()).bound.total().value > 0);
  }
  const std::map<std::string, int> expected{
      {"something is offloaded to the host", 16},
      {"sequences are packed, and attention is computed inside of documents", 5},
      {"the time is of one layer, not of a step", 5},
      {"neither a time nor a rate was measured", 6},  // 5 of them with memory, and a memory of BLOOM's
  };
  CHECK(skipped == expected);
  CHECK(steps == 1659 - 32);
  CHECK(memories >= 120);
}

TEST_CASE("experts, latent attention and windows are read off a row", "[training-case]") {
  const TrainingCase deepseek = case_called("simumax-b200-deepseekv2_tp1_ep4_pp2_dp4_l4_mbc32_cef");
  REQUIRE(deepseek.skip == "");
  CHECK(deepseek.arch.attention == AttentionKind::latent);
  CHECK(deepseek.arch.latent == Latent{1536, 512, 128, 64, 128});
  CHECK((deepseek.arch.moe.experts == 160 && deepseek.arch.moe.top_k == 6 && deepseek.arch.moe.width == 1536));
  CHECK((deepseek.arch.moe.shared_experts == 1 && deepseek.arch.moe.shared_width == 3072));
  CHECK(deepseek.arch.moe.layers.size() == 3);  // 4 layers, the first of them dense
  CHECK(deepseek.capacity_factor == 1.0);
  CHECK(ranks(deepseek.layout, Group::expert) == 4);
  const TrainingCase qwen = case_called("mbridge-26.08-qwen3_30b_a3b-gb300-8-mxfp8-gbs512-mbs8-tp1-pp1-cp1-ep8");
  CHECK((qwen.arch.moe.experts == 128 && qwen.arch.moe.width == 768 && qwen.arch.mlp_width == 0));
  CHECK(qwen.cluster().levels[0].ranks == 72);
}

TEST_CASE("a window or chunks are read as sources write them", "[training-case]") {
  const LocalAttention gpt = local_attention("alternating full / sliding window 128 with sinks", 0, 36);
  CHECK((gpt.reach.tokens == 128 && !gpt.reach.chunked && gpt.layers.size() == 18));
  const LocalAttention llama = local_attention("3 of 4 layers chunked attention (8192)", 0, 48);
  CHECK((llama.reach.tokens == 8192 && llama.reach.chunked && llama.layers.size() == 36 && !llama.layers.contains(3)));
  const LocalAttention gemma = local_attention("5 local : 1 global", 1024, 34);
  CHECK((gemma.reach.tokens == 1024 && gemma.layers.size() == 29 && !gemma.layers.contains(5)));
  CHECK(local_attention("alternate layers", 128, 24).layers.size() == 12);
  CHECK(local_attention("5:1", 1024, 36).layers.size() == 30);
  CHECK(local_attention("every 6th layer global", 1024, 36).layers.size() == 30);
  CHECK(local_attention("6", 1024, 36).layers.size() == 30);
  CHECK(local_attention("1 of 4 layers is full", 1024, 36).layers.size() == 27);
  CHECK(local_attention("every other layer", 1024, 36).layers.size() == 18);
  CHECK(local_attention("MLA", 0, 61).layers.empty());
  CHECK(local_attention("", 0, 61).layers.empty());
}

TEST_CASE("a window whose layers are not told is every layer's, and other mixers are the preset's or none",
          "[training-case]") {
  const AttentionLayers open = attention_layers("sliding window (4096)", "attention_type", 0, 32);
  CHECK((open.local.reach.tokens == 4096 && open.local.layers.size() == 32));
  CHECK(open.assumed == "a window of 4096 tokens in every layer: \"attention_type\" says \"sliding window (4096)\"");
  CHECK(attention_layers("", "sliding_pattern", 1024, 32).assumed ==
        "a window of 1024 tokens in every layer: the row does not state which layers have it");
  CHECK(attention_layers("random blocks", "attention_type", 0, 32).assumed ==
        "attention over all tokens in every layer: \"attention_type\" says \"random blocks\", which is not understood");
  for (const char* whole : {"", "full", "GQA", "MLA", "causal multi-head attention", "no sliding window"}) {
    INFO(whole);
    const AttentionLayers a = attention_layers(whole, "attention_type", 0, 32);
    CHECK((a.local.layers.empty() && a.assumed.empty() && !a.recurrent));
  }
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.model.attention_type = "hybrid mamba";
  CHECK(training_case(row, devices_once()).skip == "layers without softmax attention whose shapes are not stated");
  row.model.name = "Qwen3-Next-80B-A3B";
  row.model.layers = 48;
  row.model.hidden = 2048;
  row.model.heads = 16;
  row.model.kv_heads = row.model.head_dim = std::nullopt;
  const TrainingCase c = training_case(row, devices_once());
  REQUIRE(c.skip == "");
  CHECK(c.arch.mixers.size() + static_cast<std::size_t>(!c.arch.linear_layers.empty()) > 0);
}

TEST_CASE("key-value heads that a row does not state are told, or the preset's", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.model.kv_heads = std::nullopt;
  row.model.name = "a model of tomorrow";
  const TrainingCase c = training_case(row, devices_once());
  CHECK(c.arch.kv_heads == 12);
  REQUIRE_FALSE(c.assumed.empty());
  CHECK(c.assumed[0] == "as many key-value heads as heads, 12: the row does not state them");
  row.model.attention_type = "MQA";
  CHECK(training_case(row, devices_once()).arch.kv_heads == 1);
  TrainingRow llama = row_called(training_rows(), "titan-8b-8-fsdp-compile-fp8");
  llama.model.name = "Llama-3.1-8B";
  llama.model.kv_heads = std::nullopt;
  CHECK(training_case(llama, devices_once()).arch.kv_heads == 8);
  CHECK_FALSE(training_case(llama, devices_once()).input_assumed);
}

TEST_CASE("layers lie on stages by the rule that the row states", "[training-case]") {
  const auto layers_on = [](const char* id, std::size_t chunk) { return case_called(id).layout.stage_layers[chunk]; };
  // 30 layers on 8 stages, one less on the first and the last: 3, 4, 4, 4, 4, 4, 4, 3.
  CHECK(layers_on("zerobubble-6.2b-m24-zb-2p", 0) == 3);
  CHECK(layers_on("zerobubble-6.2b-m24-zb-2p", 1) == 4);
  // 46 layers in 16 x 3 chunks, one less in the first and the last: none in these.
  CHECK(layers_on("zerobubble-14.6b-m128-1f1b-i", 0) == 0);
  CHECK(layers_on("zerobubble-14.6b-m128-1f1b-i", 1) == 1);
  for (const TrainingRow& row : training_rows()) {
    const TrainingCase c = training_case(row, devices_once());
    if (!c.skip.empty() || c.layout.stage_layers.empty()) continue;
    INFO(row.id);
    CHECK(sum_of(c.layout.stage_layers) == c.arch.layers);
  }
}

TEST_CASE("a Megatron-Core pipeline layout is written out", "[training-case]") {
  using Chunks = std::vector<Count>;
  CHECK(chunks_of_layout("Et|tt|tL") == Chunks{1, 2, 1});
  CHECK(chunks_of_layout("Et*3|(tt|)*2,m|L") == Chunks{3, 2, 2, 0, 0});
  CHECK(chunks_of_layout("(t*2|)*3L") == Chunks{2, 2, 2, 0});
  CHECK(chunks_of_layout("what").empty());
  CHECK(chunks_of_layout("").empty());
}

TEST_CASE("what runs again is what the row names", "[training-case]") {
  const auto recomputed = [](const char* said) { return recomputed_called(said); };
  CHECK(recomputed("full") == Recomputed{.layers = true});
  CHECK(recomputed("none (recipe default)") == Recomputed{});
  CHECK(recomputed("selective (attention core)") == Recomputed{.core = true});
  CHECK(recomputed("selective: layernorm, moe_act") == Recomputed{.norms = true, .activations = true});
  CHECK(recomputed("selective: ffn") == Recomputed{.mlp = true});
  CHECK(recomputed("selective (per-op, keeps every second matmul output)") == Recomputed{.alternate_products = true});
  CHECK(recomputed("selective (every layer alternate: torchtitan \"2\", i.e. every second layer fully recomputed)") ==
        Recomputed{.layers = true, .layer_step = 2});
  const Recomputed every{.layers = true};
  for (const char* all : {"full (every layer)", "activation checkpointing", "gradient checkpointing", "remat full",
                          "full activation recomputation", "uniform 1", "activation_checkpointing: true", "yes"}) {
    INFO(all);
    CHECK(recomputed(all) == every);
    CHECK(recomputed(all).every_layer());
  }
  for (const char* none : {"none", "no", "off", "False", "disabled", "no recomputation", "without remat"}) {
    INFO(none);
    CHECK(recomputed(none) == Recomputed{});
  }
  CHECK(recomputed("full (block, 16 of 32 layers)") == Recomputed{.layers = true, .share = 0.5});
  CHECK(recomputed("block, 4 layers") == Recomputed{.layers = true, .first = 4, .in_chunk = true});
  CHECK(recomputed("recompute-granularity full, method block, num-layers 8") ==
        Recomputed{.layers = true, .first = 8, .in_chunk = true});
  CHECK(recomputed("uniform 4") == Recomputed{.layers = true, .group = 4});
  CHECK(recomputed("full, every other layer") == Recomputed{.layers = true, .layer_step = 2});
  CHECK(recomputed("every 3rd layer") == Recomputed{.layers = true, .layer_step = 3});
  CHECK(recomputed("layers 0-15") == Recomputed{.layers = true, .first = 16});
  CHECK(recomputed("half of the layers") == Recomputed{.layers = true, .share = 0.5});
  CHECK(recomputed("25%") == Recomputed{.layers = true, .share = 0.25});
  CHECK(recomputed("MLP only") == Recomputed{.mlp = true});
  CHECK_FALSE(recomputed("partial").assumed.empty());
  CHECK_FALSE(recomputed("not stated").assumed.empty());
  CHECK_FALSE(recomputed("").assumed.empty());
}

TEST_CASE("layers that run again are the first ones of every chunk", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");  // 12 layers, one stage
  const auto plan = [&](const char* said) {
    row.recompute = said;
    return training_case(row, devices_once()).plan;
  };
  CHECK(plan("activation checkpointing").recompute_method == RecomputeMethod::uniform);
  for (const auto& [said, layers] : {std::pair{"full (block, 3 of 12 layers)", 3},
                                     {"block, 4 layers", 4},
                                     {"every 3rd layer", 4},
                                     {"half of the layers", 6},
                                     {"layers 0-4", 5}}) {
    INFO(said);
    CHECK(plan(said).recompute == Recompute::full);
    CHECK(plan(said).recompute_method == RecomputeMethod::block);
    CHECK(plan(said).recompute_layers == layers);
  }
  CHECK((plan("uniform 4").recompute_method == RecomputeMethod::uniform && plan("uniform 4").recompute_layers == 4));
}

TEST_CASE("a schedule is told by any of its names, and a remark behind it is none", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "zerobubble-6.2b-m24-zb-2p");  // 8 stages
  row.parallelism.layer_split = "";
  row.model.layers = 32;
  const auto read = [&](const char* said, std::optional<Count> chunks) {
    row.parallelism.schedule = said;
    row.parallelism.vp = chunks;
    return training_case(row, devices_once());
  };
  for (const auto& [said, schedule, chunks] : {std::tuple{"1f1b (non-interleaved)", f1b1, 1},
                                               {"PipeDream-flush", f1b1, 1},
                                               {"AFAB", Schedule::gpipe, 1},
                                               {"GPipe (all forward, all backward)", Schedule::gpipe, 1},
                                               {"ScheduleGPipe", Schedule::gpipe, 1},
                                               {"fill-drain", Schedule::gpipe, 1},
                                               {"Interleaved 1F1B (VPP 4)", Schedule::interleaved, 4},
                                               {"ScheduleInterleaved1F1B", Schedule::interleaved, 2},
                                               {"ZBVZeroBubble", Schedule::zb_v, 2}}) {
    INFO(said);
    const TrainingCase c = read(said, std::nullopt);
    REQUIRE(c.skip == "");
    CHECK((c.layout.schedule == schedule && c.layout.chunks == chunks));
  }
  CHECK(read("interleaved", std::nullopt).input_assumed);
  CHECK_FALSE(read("interleaved", 2).input_assumed);
  TrainingRow alone = row_called(training_rows(), "llmc-gpt2-124M");
  for (const char* none : {"none", "n/a", "-", "no pipeline", "wavefront"}) {
    INFO(none);
    alone.parallelism.schedule = none;
    CHECK(training_case(alone, devices_once()).skip == "");
  }
}

TEST_CASE("a time of a part of a step is no step's", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto skip = [&](const char* scope) {
    row.scope = scope;
    return training_case(row, devices_once()).skip;
  };
  for (const char* whole : {"", "step", "whole step", "optimizer step", "forward, backward and optimizer", "n/a"}) {
    INFO(whole);
    CHECK(skip(whole) == "");
  }
  CHECK(skip("forward only") == "the time is of the forward pass, not of a step");
  CHECK(skip("bwd") == "the time is of the backward pass, not of a step");
  CHECK(skip("excluding optimizer step") == "the time is of a step without its optimizer");
  CHECK(skip("forward+backward") == "the time is of a step without its optimizer");
}

TEST_CASE("notes that deny something do not say it", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const TrainingCase plain = training_case(row, devices_once());
  for (const char* note : {"data exploration", "no LoRA", "no activation offload", "from Colorado"}) {
    INFO(note);
    row.notes = note;
    const TrainingCase c = training_case(row, devices_once());
    CHECK(c.skip == "");
    CHECK(c.plan == plain.plan);
  }
  row.notes = "no torch.compile";
  CHECK(training_case(row, devices_once()).stack.compiled == false);
  row.notes = "eager mode disabled";
  CHECK_FALSE(training_case(row, devices_once()).stack.compiled.has_value());
}

TEST_CASE("a network's rate is a device's share of what the row states", "[training-case]") {
  const auto share = [](const char* text, Count per_node) {
    const auto said = network_share(text, per_node);
    return said ? said->rate.value : 0;
  };
  CHECK(share("InfiniBand HDR 8x200 Gb/s (Selene)", 8) == 25e9);
  CHECK(share("RoCE 1600 Gb/s per node (8x200)", 8) == 25e9);
  CHECK(share("4x Omni-Path 100 Gb/s per node", 8) == 6.25e9);
  CHECK(share("Omni-Path 100 Gb/s", 4) == 12.5e9);
  CHECK(share("4x200 Gb/s HDR InfiniBand (config: 800 Gb/s per node)", 8) == 12.5e9);
  CHECK(share("RDMA 400 Gb/s per GPU", 8) == 50e9);
  CHECK(share("RDMA CX-7 400 Gb/s per GPU", 8) == 50e9);
  CHECK(share("Storage+Management: 1x NVIDIA BlueField 2 DPU 100Gb/s, Compute: 8x NVIDIA ConnectX-7 IB NDR 400Gb/s",
              8) == 50e9);
  CHECK(
      share(
          "Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s, Management: 100Gb/s Ethernet "
          "NIC",
          8) == 50e9);
  CHECK(share("1x Ethernet 100Gb/Sec, 8x NVIDIA Quantum-2 CX7 InfiniBand (400Gb/s)", 8) == 50e9);
  CHECK(share("4x ConnectX-8 IB XDR 800 Gb/s", 4) == 100e9);
  CHECK(share("NVLink + 8x400G InfiniBand (DeepEP)", 8) == 50e9);
  CHECK(share("50 GB/s per GPU", 8) == 50e9);
  CHECK(share("400 GB/s", 8) == 50e9);
  CHECK(share("4x HDR200", 8) == 12.5e9);
  CHECK(share("NDR400", 8) == 50e9);
  CHECK(share("1x HDR IB", 8) == 25e9 / 8);
  CHECK(share("EFA 3200 Gbps", 8) == 50e9);
  CHECK(share("100 GbE", 8) == 12.5e9 / 8);
  CHECK(share("10 Gbit Ethernet", 8) == 1.25e9 / 8);
  CHECK(share("Spectrum-X 400GbE", 8) == 50e9);
  CHECK(share("InfiniBand (4 NICs x 200 Gb/s)", 8) == 12.5e9);
  CHECK(share("eight 400-gigabit NICs", 8) == 50e9);
  CHECK(network_share("100 GbE", 8)->assumed_of_node);
  CHECK_FALSE(network_share("100 GbE per node", 8)->assumed_of_node);
  CHECK(share("8x H100 80 GB", 8) == 0);
  CHECK(share("InfiniBand HDR (DGX A100)", 8) == 0);
  CHECK(share("ROCE2; Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s", 8) == 0);
  CHECK(share("not stated", 8) == 0);
}

TEST_CASE("links are those of the row's nodes", "[training-case]") {
  const TrainingCase v100 = case_called("bigscience-1b3-v100-32gb-tp1-pp1-dp8-mbs1-ckpt");
  CHECK(v100.cluster().levels[0].ranks == 4);
  CHECK(v100.cluster().levels[1].bandwidth.value == 12.5e9);
  const TrainingCase geforce = case_called("llmq-4090x4-qwen2.5-0.5b-fp8");
  CHECK(geforce.cluster().levels[0].bandwidth.value == geforce.on.hardware.pcie.value);
  CHECK(geforce.cluster().levels[0].ranks == 4);
}

TEST_CASE("measured memory says which memory it is", "[training-case]") {
  const TrainingCase c = case_called("simumax-b200-llama3_70b_l12_tp1_pp2_dp4_mbc4_cef");
  REQUIRE(c.memory.size() == 2);
  CHECK((c.memory[0].bytes == 70.88 * 0x1p30 && c.memory[0].kind == MemoryKind::reserved));
  CHECK((c.memory[1].bytes == 66.55 * 0x1p30 && c.memory[1].kind == MemoryKind::allocated));
  const TrainingCase bloom = case_called("bloom-181B-L72-h14336-a64-tp8-pp12-dp4-mbs2-gbs2048-02-21");
  REQUIRE(bloom.memory.size() == 1);
  CHECK((bloom.memory[0].bytes == 37 * 0x1p30 && bloom.memory[0].kind == MemoryKind::process));
}

TEST_CASE("what cannot be expressed is skipped with the reason", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "sc21-t1-1.7B");
  const auto skip = [&] { return training_case(row, devices_once()).skip; };
  row.parallelism.schedule = "wavefront";
  row.parallelism.pp = 2;
  row.parallelism.dp = 16;
  CHECK(skip() == "the schedule \"wavefront\" is not known");
  row.parallelism.schedule = "";
  row.parallelism.dp = 32;
  CHECK(skip() == "tp x cp x pp x dp are 64 devices, and the row has 32");
  row.parallelism.pp = 1;
  row.batch.global = 500;
  CHECK(skip() == "500 sequences are no whole number of micro-batches of 16 on 32 replicas");
  row.batch.global = 512;
  row.model.heads = 7;
  row.model.kv_heads = 3;
  CHECK(skip() == "its architecture: 7 heads cannot share 3 KV heads evenly; heads must be a multiple of KV heads");
  row.hardware.gpu = "Unheard-of 9000";
  row.hardware.memory_gb = std::nullopt;
  row.model.heads = row.model.kv_heads.emplace(24);
  CHECK(skip() == "no preset is called \"Unheard-of 9000\", and the row does not state its memory");
}

TEST_CASE("layers of every stage are read off a list, and what is not understood is said", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "zerobubble-6.2b-m24-zb-2p");  // 30 layers on 8 stages
  const auto first = [&](std::string TrainingParallelism::*key, const char* said) {
    row.parallelism.layer_split = row.parallelism.partition = row.parallelism.pp_balance = row.parallelism.pp_layout =
        "";
    row.parallelism.*key = said;
    return training_case(row, devices_once());
  };
  for (auto key : {&TrainingParallelism::layer_split, &TrainingParallelism::pp_layout}) {
    const TrainingCase listed = first(key, "[2,4,4,4,4,4,4,4]");
    CHECK((listed.layout.stage_layers[0] == 2 && listed.layout.stage_layers[7] == 4));
    CHECK_FALSE(listed.input_assumed);
  }
  CHECK(first(&TrainingParallelism::pp_layout, "Ett|tttt|tttt|tttt|tttt|tttt|tttt|ttttL").layout.stage_layers[0] == 2);
  const auto sentence_of = [&](std::string TrainingParallelism::*key, const char* said) {
    const TrainingCase c = first(key, said);
    CHECK(c.input_assumed);
    return c.assumed.empty() ? "" : c.assumed[0];
  };
  CHECK(sentence_of(&TrainingParallelism::layer_split, "[20,28]") ==
        "layers lie on stages by a rule of the program: \"layer_split\" says \"[20,28]\", which does not put 30 layers "
        "into 8 chunks");
  CHECK(sentence_of(&TrainingParallelism::pp_layout, "wild") ==
        "layers lie on stages by a rule of the program: \"pp_layout\" says \"wild\", which is not understood");
  for (auto key : {&TrainingParallelism::partition, &TrainingParallelism::pp_balance})
    CHECK_THAT(sentence_of(key, "by the moon"), Catch::EndsWith("\"by the moon\", which is not understood"));
}

TEST_CASE("FSDP shards what its strategy names", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "mosaic-13b-s2048-512xh100_80gb-mbs16");
  row.parallelism.zero_stage = std::nullopt;
  const auto read = [&](const char* strategy) {
    row.parallelism.fsdp_strategy = strategy;
    return training_case(row, devices_once());
  };
  const auto is = [&](const char* strategy, Zero zero, bool reshard, Count group) {
    INFO(strategy);
    const Layout l = read(strategy).layout;
    CHECK((l.zero == zero && l.reshard == reshard && l.hsdp == group));
    CHECK_FALSE(read(strategy).input_assumed);
  };
  is("FULL_SHARD", Zero::weights, true, 0);
  is("ShardingStrategy.FULL_SHARD", Zero::weights, true, 0);
  is("SHARD_GRAD_OP", Zero::weights, false, 0);
  is("HYBRID_SHARD", Zero::weights, true, 8);  // 8 GPUs in a node
  is("_HYBRID_SHARD_ZERO2", Zero::weights, false, 8);
  is("NO_SHARD", Zero::none, true, 0);
  CHECK(read("SOME_SHARD").input_assumed);
  using Catch::VectorContains;
  CHECK_THAT(read("SOME_SHARD").assumed,
             VectorContains(std::string("FULL_SHARD: the strategy \"SOME_SHARD\" of FSDP is not known")));
  row.parallelism.fsdp_group = "the moon";
  CHECK_THAT(read("FULL_SHARD").assumed,
             VectorContains(std::string("sharding over all devices: the group \"the moon\" is not understood")));
}

TEST_CASE("states that the devices cannot hold are said to be held", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto said = [&] {
    for (const std::string& sentence : training_case(row, devices_once()).assumed)
      if (sentence.starts_with("devices that hold weights")) return sentence;
    return std::string();
  };
  CHECK(said().empty());
  row.model.layers = 96;
  row.model.hidden = 8192;
  row.model.ffn_hidden = 4 * 8192;
  row.model.heads = 64;
  row.model.kv_heads = row.model.head_dim = std::nullopt;
  // 12 x 96 x 8192^2 parameters of 2 + 4 bytes, and an eighth of 12 bytes each: 541 GiB
  CHECK_THAT(said(), Catch::StartsWith("devices that hold weights, gradients and optimizer states, 54") &&
                         Catch::EndsWith("GiB on each: they have 80"));
}

TEST_CASE("modules for further tokens and offloaded states are the plan's", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto read = [&] { return training_case(row, devices_once()); };
  const double plain = train(read().arch, read().plan, read().layout, read().cluster()).bound.total().value;
  row.model.mtp = "1";
  const TrainingCase c = read();
  REQUIRE(c.skip == "");
  CHECK((c.plan.mtp == 1 && c.arch.mtp.modules == 1 && c.arch.mtp.mlp_of == 11));
  CHECK(c.assumed[0] ==
        "a module for further tokens, each with a layer like the model's last and with its table and head");
  CHECK(train(c.arch, c.plan, c.layout, c.cluster()).bound.total().value > plain);
  row.model.mtp = "four heads";
  CHECK(read().skip == "several tokens are predicted at once: \"mtp\" says \"four heads\"");
  row.model.mtp = "";
  const auto offload = [&](const char* said) {
    row.parallelism.offload = said;
    return read();
  };
  for (const char* none : {"none", "None", "false", ""}) {
    CHECK(offload(none).skip == "");
    CHECK_FALSE(offload(none).plan.offload.any());
  }
  CHECK(offload("optimizer").plan.offload == Offload{.optimizer = {1, 1}});
  CHECK(offload("optimizer states: 0.5, activations").plan.offload ==
        Offload{.activations = {1, 1}, .optimizer = {1, 2}});
  CHECK(offload("cpu_optimizer + weights").plan.offload == Offload{.optimizer = {1, 1}, .weights = {1, 1}});
  CHECK(offload("opt-m").skip == "something is offloaded to the host, \"opt-m\", which a plan cannot say");
  row.parallelism.offload = "";
  row.activation_offload_layers = 3;  // of 12
  CHECK(read().plan.offload == Offload{.activations = {1, 4}});
}

TEST_CASE("a precision or an optimizer that cannot be expressed is skipped, with the nearest name", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto skip = [&](const char* precision, const char* optimizer) {
    row.precision = precision;
    row.optimizer = optimizer;
    return training_case(row, devices_once()).skip;
  };
  CHECK(skip("bf17", "") == "training in \"bf17\" is not known, did you mean \"bf16\"?");
  CHECK(skip("fp9 + bf16", "") == "training in \"fp9\" is not known, did you mean \"fp8\"?");
  CHECK_THAT(skip("int8 mixed", ""), Catch::StartsWith("training in \"int8\" is not known"));
  CHECK(skip("bf16", "shampoo") == "the optimizer \"shampoo\" is not known");
  CHECK(skip("bf16", "Fused Muno") == "the optimizer \"Fused Muno\" is not known, did you mean \"muon\"?");
  for (const char* known :
       {"", "AdamW", "fused Adam", "distributed optimizer", "8-bit AdamW", "SGD with momentum", "Muon"})
    CHECK(skip("bf16", known) == "");
  for (const char* known : {"fp8_e4m3 + bf16", "mxfp8-cublas", "mixed", "half", ""}) CHECK(skip(known, "") == "");
}

TEST_CASE("products run in the format of what is multiplied, not of what is kept", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.measured = {};
  row.measured.iteration_time_s = 100;  // in fp32, too
  for (const auto& [said, format] : {std::pair{"fp32 master weights, bf16 compute", "bf16"},
                                     {"fp32 params, bf16 autocast", "bf16"},
                                     {"fp32 (TF32 matmuls)", "tf32"},
                                     {"fp32", "fp32"},
                                     {"bf16 (no fp8)", "bf16"},
                                     {"bf16, fp32 gradient accumulation", "bf16"},
                                     {"bf16, gradients accumulated in fp32", "bf16"},
                                     {"bf16 + fp8 FSDP all-gather", "bf16"},
                                     {"fp8 e4m3 matmuls, bf16 params", "fp8"},
                                     {"pure bf16 weights, gradients and AdamW states", "bf16"}}) {
    INFO(said);
    row.precision = said;
    CHECK(training_case(row, devices_once()).plan.precision.name() == format);
  }
  row.precision = "half precision";
  CHECK(training_case(row, devices_once()).plan.precision.name() == "fp16");
}

TEST_CASE("a step that fp32 cannot take ran in TF32", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.precision = "fp32";
  // 8 x 19.5e12 FLOP/s in fp32, 8 x 156e12 in TF32; 6 x 124e6 FLOPs for each of 524288 tokens take 2.5 s of the former.
  row.measured = {};
  row.measured.iteration_time_s = 5;
  CHECK(training_case(row, devices_once()).plan.precision.name() == "fp32");
  row.measured.iteration_time_s = 1;
  CHECK(training_case(row, devices_once()).plan.precision.name() == "tf32");
}

TEST_CASE("formats are read by any of their names, and assumed where none is named", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.measured = {};
  row.measured.iteration_time_s = 100;  // in fp32, too
  const auto read = [&](const char* precision) {
    row.precision = precision;
    return training_case(row, devices_once());
  };
  for (const auto& [said, format] : {std::pair{"float16", "fp16"}, {"bfloat16", "bf16"}, {"float32", "fp32"}}) {
    CHECK(read(said).plan.precision.name() == format);
    CHECK_FALSE(read(said).input_assumed);
  }
  CHECK(read("").input_assumed);
  CHECK(read("").assumed.back() == "products in bf16: the row does not state the precision");
  CHECK(read("mixed").assumed.back() == "products in bf16: the precision \"mixed\" names no number format");
}

TEST_CASE("a device without a preset is made from what the row states, and that is said", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "sc21-t1-1.7B");
  row.hardware.gpu = "Unheard-of 9000";
  row.hardware.memory_gb = 100;
  row.hardware.peak_bw_gb_s = 6700;  // twice the H100's 3.35 TB/s
  const TrainingCase c = training_case(row, devices_once());
  REQUIRE(c.skip == "");
  CHECK_FALSE(c.on.preset);
  CHECK(c.input_assumed);
  CHECK_FALSE(case_called("sc21-t1-1.7B").input_assumed);
  CHECK(c.cluster().device.memory == Bytes(Count{100} << 30));
  CHECK(c.cluster().device.bandwidth.value == 6700e9);
  CHECK(c.cluster().device.peak(dtypes::bf16).value == 2 * 989.4e12);
  CHECK(c.assumed[0] ==
        "no preset is called \"Unheard-of 9000\": a H100 SXM 80GB with 100 GB and its rates times 2.00");
}

TEST_CASE("a published run has the same number of devices in every node, at least half a node", "[training-case]") {
  const auto in_a_node = [](const char* device, double memory_gb, Count count) {
    HardwareSaid said;
    said.device = device;
    said.memory_gb = memory_gb;
    said.count = count;
    return cluster_of(said, devices_once()).hardware.cluster.levels[0].ranks;
  };
  for (const auto& [count, each] :
       std::array<std::pair<Count, Count>, 6>{{{64, 72}, {72, 72}, {128, 64}, {512, 64}, {2496, 64}, {73, 72}}})
    CHECK(in_a_node("GB200 (NVL72)", 186, count) == each);
  CHECK(in_a_node("TPU v4", 32, 6144) == 3072);  // PaLM (arXiv:2204.02311): two pods of 4,096
}

TEST_CASE("a device without a preset is like those whose kind is a word of its name", "[training-case]") {
  const auto like = [](const char* device) {
    HardwareSaid said;
    said.device = device;
    said.memory_gb = 48;
    const RowCluster on = cluster_of(said, devices_once());
    CHECK_FALSE(on.preset);
    return on.assumed.at(0);
  };
  const char *h100 = ": a H100 SXM 80GB with 48 GB", *geforce = ": a RTX 4090 with 48 GB";
  CHECK_THAT(like("RTX 4090 Laptop"), Contains(geforce));
  for (const auto& [device, title] : {std::pair{"Quadro RTX 8000", ": a T4 with"},
                                      {"Tesla P40", ": a P100 PCIe 16GB with"},
                                      {"GeForce RTX 2080 Ti", ": a T4 with"},
                                      {"GTX 1080 Ti", ": a P100 PCIe 16GB with"},
                                      {"RTX A5500", ": a RTX A6000 with"},
                                      {"RTX 2000 Ada", ": a RTX 6000 Ada"},
                                      {"Tesla A16", ": a A10 with"},
                                      {"L20", ": a L40S with"},
                                      {"RTX PRO 6000 Blackwell Max-Q", ": a RTX PRO 6000"},
                                      {"AMD Instinct MI450", ": a MI355X"},
                                      {"Intel Arc B580", "Arc Pro B60"},
                                      {"Apple M5 Ultra", "M5 Max"},
                                      {"TPU v2", "TPU v3"},
                                      {"B150", "B200"}}) {
    INFO(device);
    CHECK_THAT(like(device), Contains(title));
  }
  CHECK_THAT(like("AMD MI999X"), Contains(": a MI300X with 48 GB"));
  CHECK_THAT(like("Intel Arc Z9"), Contains("Arc Pro B60"));
  for (const char* other : {"Foo X100", "Marconi Omicron", "Searchlight 3", "Demimonde"})
    CHECK_THAT(like(other), Contains(h100));
}

TEST_CASE("no number in a row, however large, ends in anything but a case or a reason", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "sc21-t1-1.7B");
  const Count huge = Count{1} << 40;
  const auto skipped = [&](TrainingRow r) { return !training_case(r, devices_once()).skip.empty(); };
  for (auto TrainingParallelism::*key : {&TrainingParallelism::tp, &TrainingParallelism::pp, &TrainingParallelism::cp,
                                         &TrainingParallelism::ep, &TrainingParallelism::dp}) {
    TrainingRow changed = row;
    changed.parallelism.*key = huge;
    changed.hardware.count = mul(huge, key == &TrainingParallelism::dp ? 1 : 32);
    changed.model.moe = MoeRow{huge, 2, 100, {}, 0, 0, 1, {}};
    CHECK(skipped(changed));
  }
  TrainingRow many = row;
  many.model.layers = huge;
  CHECK(skipped(many));
  TrainingRow few = row;  // 24 layers in 64 stages
  few.parallelism.pp = 64;
  few.parallelism.dp = 1;
  few.hardware.count = 64;
  CHECK(training_case(few, devices_once()).skip == "24 layers are fewer than the pipeline's chunks");
  TrainingRow no_experts = row;
  no_experts.model.moe = MoeRow{8, 2, 100, {}, 0, 24, 1, {}};
  CHECK(training_case(no_experts, devices_once()).skip == "no layer has experts");
}
