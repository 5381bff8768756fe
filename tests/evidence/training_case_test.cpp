#include "evidence/rows/training_case.hpp"

#include <map>
#include <numeric>

#include "calc/train.hpp"
#include "evidence/convert/attention_layers.hpp"
#include "evidence/convert/training/stage_split.hpp"
#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/convert/training/training_layout.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/convert/words/recompute_words.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Contains;

namespace {

/// Expected values of one row per family.
struct Read {
  const char *id, *device, *stack;
  Count layers, hidden, tp, pp, chunks, dp;
  Zero zero;
  Schedule schedule;
  Count micro, global, seq;
  Recompute recompute;
  AttentionImpl attention;
  const char* precision;
  bool assumed;  ///< an input on which time depends is assumed
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
    // 2^21 tokens per step are assumed: 8 x 16 x 2048 tokens, 8 times.
    {"tinyllama-1.1b", "a100-sxm-40gb", "lit-gpt", 22, 2048, 1, 1, 1, 16, Zero::weights, f1b1, 8, 1024, 2048,
     Recompute::none, AttentionImpl::flash, "bf16", true},
    {"fa2-gpt3-1.3b-s2048-noflash", "a100-sxm-80gb", "flash-attention", 24, 2048, 1, 1, 1, 8, Zero::none, f1b1, 8, 1024,
     2048, Recompute::none, AttentionImpl::naive, "bf16", true},
    {"mtnlg-530b-2240", "a100-sxm-80gb", "megatron-deepspeed", 105, 20480, 8, 35, 1, 8, Zero::optimizer, f1b1, 1, 1920,
     2048, Recompute::full, AttentionImpl::naive, "bf16", true},
    // A micro-batch of 16384 tokens and 2^21 tokens per step are assumed, in whole rounds of 124 x 8 sequences.
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

TEST_CASE("a sample row of each family gives the expected architecture, plan and layout", "[training-case]") {
  for (const Read& r : reads) {
    INFO(r.id);
    const TrainingCase c = training_case_called(r.id);
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

TEST_CASE("at most one in twenty published training rows cannot be expressed as a plan", "[training-case]") {
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
    // Checks that the calculation accepts the case and returns a time.
    CHECK(train(c.arch, c.plan, c.layout, c.cluster()).bound.total().value > 0);
  }
  const std::map<std::string, int> expected{
      {"something is offloaded to the host", 16},
      {"sequences are packed, and attention is computed inside of documents", 5},
      {"the time is of one layer, not of a step", 5},
      {"neither a time nor a rate was measured", 16},  // 5 rows with a memory figure, a memory row of BLOOM, 10 of RL
      {"adapters, with embedding and head trained in full", 12},
      {"512 sequences are not a whole number of micro-batches of 2 on 192 replicas", 1},
  };
  CHECK(skipped == expected);
  CHECK(steps == 1785 - 55);
  CHECK(memories >= 120);
}

TEST_CASE("experts, latent attention and windows are read from a row", "[training-case]") {
  const TrainingCase deepseek = training_case_called("simumax-b200-deepseekv2_tp1_ep4_pp2_dp4_l4_mbc32_cef");
  REQUIRE(deepseek.skip == "");
  CHECK(deepseek.arch.attention == AttentionKind::latent);
  CHECK(deepseek.arch.latent == Latent{1536, 512, 128, 64, 128});
  CHECK((deepseek.arch.moe.experts == 160 && deepseek.arch.moe.top_k == 6 && deepseek.arch.moe.width == 1536));
  CHECK((deepseek.arch.moe.shared_experts == 1 && deepseek.arch.moe.shared_width == 3072));
  CHECK(deepseek.arch.moe.layers.size() == 3);  // 4 layers, the first of which is dense
  CHECK(deepseek.capacity_factor == 1.0);
  CHECK(ranks(deepseek.layout, Group::expert) == 4);
  const TrainingCase qwen =
      training_case_called("mbridge-26.08-qwen3_30b_a3b-gb300-8-mxfp8-gbs512-mbs8-tp1-pp1-cp1-ep8");
  CHECK((qwen.arch.moe.experts == 128 && qwen.arch.moe.width == 768 && qwen.arch.mlp_width == 0));
  CHECK(qwen.cluster().levels[0].ranks == 72);
}

TEST_CASE("windows and chunks are parsed in every spelling that sources use", "[training-case]") {
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

TEST_CASE("a window without a layer list applies to all layers; recurrent mixers require a preset", "[training-case]") {
  const AttentionLayers open = attention_layers("sliding window (4096)", "attention_type", 0, 32);
  CHECK((open.local.reach.tokens == 4096 && open.local.layers.size() == 32));
  CHECK(open.assumed == "a window of 4096 tokens in every layer: \"attention_type\" is \"sliding window (4096)\"");
  CHECK(attention_layers("", "sliding_pattern", 1024, 32).assumed ==
        "a window of 1024 tokens in every layer: the row does not state which layers have it");
  CHECK(attention_layers("random blocks", "attention_type", 0, 32).assumed ==
        "attention over all tokens in every layer: \"attention_type\" is \"random blocks\", which is not recognized");
  for (const char* whole : {"", "full", "GQA", "MLA", "causal multi-head attention", "no sliding window"}) {
    INFO(whole);
    const AttentionLayers a = attention_layers(whole, "attention_type", 0, 32);
    CHECK((a.local.layers.empty() && a.assumed.empty() && !a.recurrent));
  }
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.model.attention_type = "hybrid mamba";
  CHECK(training_case(row, devices_once()).skip == "the shapes of layers without softmax attention are not stated");
  row.model.name = "Qwen3-Next-80B-A3B";
  row.model.layers = 48;
  row.model.hidden = 2048;
  row.model.heads = 16;
  row.model.kv_heads = row.model.head_dim = std::nullopt;
  const TrainingCase c = training_case(row, devices_once());
  REQUIRE(c.skip == "");
  CHECK(c.arch.mixers.size() + static_cast<std::size_t>(!c.arch.linear_layers.empty()) > 0);
}

TEST_CASE("an unstated number of KV heads comes from the row's text or the preset", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.model.kv_heads = std::nullopt;
  row.model.name = "a model of tomorrow";
  const TrainingCase c = training_case(row, devices_once());
  CHECK(c.arch.kv_heads == 12);
  REQUIRE_FALSE(c.assumed.empty());
  CHECK(c.assumed[0] == "as many key-value heads as query heads (12): the row does not state their number");
  row.model.attention_type = "MQA";
  CHECK(training_case(row, devices_once()).arch.kv_heads == 1);
  TrainingRow llama = row_called(training_rows(), "titan-8b-8-fsdp-compile-fp8");
  llama.model.name = "Llama-3.1-8B";
  llama.model.kv_heads = std::nullopt;
  CHECK(training_case(llama, devices_once()).arch.kv_heads == 8);
  CHECK_FALSE(training_case(llama, devices_once()).input_assumed);
}

TEST_CASE("layers are divided over stages by the rule that the row states", "[training-case]") {
  const auto layers_on = [](const char* id, std::size_t chunk) {
    return training_case_called(id).layout.stage_layers[chunk];
  };
  // 30 layers on 8 stages, one fewer on the first and the last: 3, 4, 4, 4, 4, 4, 4, 3.
  CHECK(layers_on("zerobubble-6.2b-m24-zb-2p", 0) == 3);
  CHECK(layers_on("zerobubble-6.2b-m24-zb-2p", 1) == 4);
  // 46 layers in 16 x 3 chunks, one fewer in the first and the last, so these have 0.
  CHECK(layers_on("zerobubble-14.6b-m128-1f1b-i", 0) == 0);
  CHECK(layers_on("zerobubble-14.6b-m128-1f1b-i", 1) == 1);
  for (const TrainingRow& row : training_rows()) {
    const TrainingCase c = training_case(row, devices_once());
    if (!c.skip.empty() || c.layout.stage_layers.empty()) continue;
    INFO(row.id);
    CHECK(sum_of(c.layout.stage_layers) == c.arch.layers);
  }
}

TEST_CASE("a Megatron-Core pipeline layout is expanded", "[training-case]") {
  using Chunks = std::vector<Count>;
  CHECK(chunks_of_layout("Et|tt|tL") == Chunks{1, 2, 1});
  CHECK(chunks_of_layout("Et*3|(tt|)*2,m|L") == Chunks{3, 2, 2, 0, 0});
  CHECK(chunks_of_layout("(t*2|)*3L") == Chunks{2, 2, 2, 0});
  CHECK(chunks_of_layout("what").empty());
  CHECK(chunks_of_layout("").empty());
}

TEST_CASE("the recomputation mode is inferred from a row's text", "[training-case]") {
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
  CHECK(recomputed("AC every 4") == Recomputed{.layers = true, .layer_step = 4});
  CHECK(recomputed("partial recompute (8 of 32)") == Recomputed{.layers = true, .share = 0.25});
  CHECK(recomputed("25%") == Recomputed{.layers = true, .share = 0.25});
  CHECK(recomputed("MLP only") == Recomputed{.mlp = true});
  CHECK_FALSE(recomputed("partial").assumed.empty());
  CHECK_FALSE(recomputed("not stated").assumed.empty());
  CHECK_FALSE(recomputed("").assumed.empty());
}

TEST_CASE("a stated number of recomputed layers means the first layers of every chunk", "[training-case]") {
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

TEST_CASE("a schedule is recognized by all its names, and remarks after it are ignored", "[training-case]") {
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

TEST_CASE("the time of part of a step is not used as the step time", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto skip = [&](const char* scope) {
    row.scope = scope;
    return training_case(row, devices_once()).skip;
  };
  for (const char* whole : {"", "step", "whole step", "optimizer step", "forward, backward and optimizer", "n/a"}) {
    INFO(whole);
    CHECK(skip(whole) == "");
  }
  CHECK(skip("forward only") == "the time covers only the forward pass, not a step");
  CHECK(skip("bwd") == "the time covers only the backward pass, not a step");
  CHECK(skip("excluding optimizer step") == "the time covers a step without the optimizer");
  CHECK(skip("forward+backward") == "the time covers a step without the optimizer");
}

TEST_CASE("notes that deny a training feature do not enable it", "[training-case]") {
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
