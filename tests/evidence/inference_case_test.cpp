#include "evidence/rows/inference_case.hpp"

#include <cmath>
#include <map>
#include <tuple>

#include "calc/infer.hpp"
#include "evidence/convert/inference/inference_conversion.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/words/engine_words.hpp"
#include "evidence/names/format_name.hpp"
#include "evidence/names/inference_stack.hpp"
#include "evidence/prediction.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Contains;

namespace {

InferenceCase case_called(const char* id) { return inference_case(row_called(inference_rows(), id), devices_once()); }

const Figure& figure_called(const InferenceCase& c, std::string_view key) {
  return *std::find_if(c.figures.begin(), c.figures.end(), [&](const Figure& f) { return f.key == key; });
}

/// Expected values of one row per source: ranks, batch per replica, lengths, formats of MLP (or experts), head, matmuls
/// and cache, the engine, and a figure in base units.
struct Seen {
  const char* id;
  Count layers, tp, pp, ep, dp, batch, prompt, generate;
  const char *mlp, *head, *precision, *cache, *engine;
  const char* key;
  double value;
};
constexpr double gib = 0x1p30;
constexpr Seen seen[] = {
    {"ft-gpt-89b-tp8-b1-i128-o8", 48, 8, 1, 1, 1, 1, 128, 8, "fp16", "fp16", "fp16", "fp16", "fastertransformer",
     "e2e_latency_ms", 0.27944},
    {"trtllm061-h100-sxm-gpt-j-6b-tp1-b1024-i128-o128", 28, 1, 1, 1, 1, 1024, 128, 128, "fp8", "bf16", "fp8", "fp8",
     "tensorrt-llm", "output_tok_s", 26150},
    {"trtllm050-h100-gpt-j-6b-tp1-b64-i128-o128", 28, 1, 1, 1, 1, 64, 128, 128, "fp8", "bf16", "fp8", "fp8",
     "tensorrt-llm", "output_tok_s", 10907},
    {"trtllm-h200launch-llama-2-13b-tp1-b1024-i128-o128", 40, 1, 1, 1, 1, 1024, 128, 128, "fp8", "bf16", "fp8", "fp8",
     "tensorrt-llm", "output_tok_s", 11819},
    {"trtllm-h100va100-gptj-a100-sxm4-80gb-b64", 28, 1, 1, 1, 1, 64, 128, 128, "fp16", "fp16", "fp16", "fp16",
     "tensorrt-llm", "ttft_ms", 0.481},
    {"trtllm07-h200-llama2-70b-b960-i128-o128", 80, 1, 1, 1, 1, 960, 128, 128, "fp8", "bf16", "fp8", "fp8",
     "tensorrt-llm", "output_tok_s", 3803},
    {"gptfast-llama-3.1-8b-bf16-tp1-a100-sxm4-80gb", 32, 1, 1, 1, 1, 1, 5, 200, "bf16", "bf16", "bf16", "bf16",
     "gpt-fast", "output_tok_s", 93.89},
    // 32 tokens at a mean context of 16: starts with an empty cache.
    {"calm-m2-llama-3-8b-fp8-ctx4096-first32", 32, 1, 1, 1, 1, 1, 1, 32, "fp8", "fp8", "fp16", "fp16", "calm",
     "decode_tok_s", 12},
    {"xdai-3070-8gb-x1-llama-3-8b-q4-k-m-n1024", 32, 1, 1, 1, 1, 1, 1024, 1024, "q4_1", "q6_k", "fp16", "fp16",
     "llama.cpp", "prefill_tok_s", 2283.62},
    {"exllama-4090-llama-7b-g128-actno", 32, 1, 1, 1, 1, 1, 1920, 128, "gptq", "fp16", "fp16", "fp16", "exllama",
     "decode_tok_s_last128", 140},
    {"exl2-rtx4090-codellama-34b-exl2-4.0-bpw", 48, 1, 1, 1, 1, 1, 8, 128, "int4", "q6_k", "fp16", "fp16", "exllamav2",
     "decode_tok_s", 50},
    {"autoawq-1x4090-tinyllama-1b-gemv-b1-i64-o64", 22, 1, 1, 1, 1, 1, 64, 64, "awq", "fp16", "fp16", "fp16", "autoawq",
     "memory_gb", 0.86e9},
    {"qwen72b-vllm-2xa100-b1-o2048", 80, 2, 1, 1, 1, 1, 1, 2048, "bf16", "bf16", "bf16", "bf16", "vllm", "output_tok_s",
     17.6},
    {"qwen25-vllm-a100-0.5b-bf16-tp1-i1", 24, 1, 1, 1, 1, 1, 1, 2048, "bf16", "bf16", "bf16", "bf16", "vllm",
     "output_tok_s", 311.55},
    {"qwen3-hf-h20-qwen3-8b-bf16-g1-i1-mem", 36, 1, 1, 1, 1, 1, 1, 2048, "bf16", "bf16", "bf16", "bf16", "transformers",
     "memory_mb", 15947 * 0x1p20},
    {"neuron-inf2-llama-3-70b-tp24-b1-i2048-o2048", 80, 24, 1, 1, 1, 1, 2048, 2048, "bf16", "bf16", "bf16", "bf16",
     "transformers-neuronx", "tpot_ms", 0.03467},
    {"gaudi-gaudi3-codellama-34b-bf16-b1-o100", 48, 1, 1, 1, 1, 1, 8, 100, "bf16", "bf16", "bf16", "bf16",
     "optimum-habana", "output_tok_s", 42.9},
    {"glm130b-ft-int4-a100-sxm4-80gb-x4-s512", 70, 4, 1, 1, 1, 1, 512, 512, "int4", "fp16", "fp16", "fp16",
     "fastertransformer", "tpot_ms", 0.05293},
    {"glm130b-ft-fp16-a100-40-x8-s512", 70, 8, 1, 1, 1, 1, 512, 512, "fp16", "fp16", "fp16", "fp16",
     "fastertransformer", "prefill_ms", 0.12},
    {"spark-gemma-3-4b-pp512-b1", 34, 1, 1, 1, 1, 1, 512, 32, "q4_0", "q6_k", "fp16", "fp16", "llama.cpp",
     "decode_total_ms", 0.408},
    {"apple4167-m1-8c-q8-0-8.5-bpw", 32, 1, 1, 1, 1, 1, 512, 128, "q8_0", "q8_0", "fp16", "fp16", "llama.cpp",
     "decode_tok_s", 7.91},
    {"vllm-mem-pr2031-llama2-7b", 32, 1, 1, 1, 1, 1, 1, 1, "fp16", "fp16", "fp16", "fp16", "vllm", "kv_blocks",
     7351.0 * 16},
    {"vllm-mem-10511-llama3-8b-tp1", 32, 1, 1, 1, 1, 1, 1, 1, "bf16", "bf16", "bf16", "bf16", "vllm", "kv_gib_per_gpu",
     53.29 * gib},
    {"vllm-mem-13061-r1distill14b-2x4090", 48, 2, 1, 1, 1, 1, 1, 1, "bf16", "bf16", "bf16", "bf16", "vllm", "kv_tokens",
     81536},
    {"llmd-vllm-mem-gpt-oss-120b-tp1", 36, 1, 1, 1, 1, 1, 1, 1, "mxfp4", "bf16", "bf16", "bf16", "vllm",
     "weights_gib_per_gpu", 64.38 * gib},
    {"vllm-buildkite-9515-mixtral-8x7b-h200-tp2", 32, 2, 1, 1, 1, 8, 32, 128, "bf16", "bf16", "bf16", "bf16", "vllm",
     "e2e_latency_ms", 1.91744},
    {"rkooo567-llama2-70b-8xa100-40-triton-fastertransformer-b32-i1-o2048", 80, 8, 1, 1, 1, 32, 1, 2048, "fp16", "fp16",
     "fp16", "fp16", "fastertransformer", "e2e_latency_ms", 70.19},
    // 16384 tokens per GPU are 4 prompts.
    {"infersim-actual-qwen3-8b-h20-prefill", 36, 1, 1, 1, 1, 4, 4096, 1, "fp8", "bf16", "fp8", "bf16", "sglang",
     "prefill_tok_s_per_gpu", 15061},
    // With the assumed 16384 tokens per GPU, 9 prompts of 2000 when rounded up; 52300 tokens/s on each of 4 nodes.
    {"lmsys-96h100-prefill-2k", 61, 1, 1, 32, 32, 9, 2000, 1, "fp8-block", "bf16", "fp8", "bf16", "sglang",
     "input_tok_s_per_node", 4 * 52300.0},
    {"qserve-l40s-llama-3-8b-b128", 32, 1, 1, 1, 1, 128, 1024, 512, "int4-g128", "bf16", "int8", "int4", "qserve",
     "output_tok_s", 3656},
    {"tinychat-rtx4090-llama-2-7b-int4", 32, 1, 1, 1, 1, 1, 4, 1, "awq", "fp16", "fp16", "fp16", "tinychat", "tpot_ms",
     0.00528},
    {"mlc-rtx3090ti-llama-2-7b-q4", 32, 1, 1, 1, 1, 1, 7, 256, "int4-g32", "q4_0", "fp16", "fp16", "mlc-llm",
     "decode_tok_s", 186.7},
    {"torchao-a100-80gb-llama-3-8b-bf16", 32, 1, 1, 1, 1, 1, 6, 200, "bf16", "bf16", "bf16", "bf16", "torchao",
     "memory_gb", 16.43e9},
    {"nim18-llama33-70b-2xh100-i5000-o500-c1", 80, 2, 1, 1, 1, 1, 5000, 500, "fp8", "bf16", "fp8", "fp8",
     "tensorrt-llm", "tpot_ms", 0.01858},
    {"vllm-arcb60-gpt-oss-20b-tp1-i1024-c75", 24, 1, 1, 1, 1, 75, 1024, 1024, "mxfp4", "bf16", "bf16", "fp8", "vllm",
     "ttft_ms", 7.614},
    {"vllm-gb300-dsr1-ep2-prefill-b256", 61, 1, 1, 2, 2, 128, 2048, 1, "nvfp4", "bf16", "nvfp4", "bf16", "vllm",
     "prefill_tok_s_per_gpu", 2 * 22476.0},
    {"pope22-palm-540b-low-latency-prefill", 118, 64, 1, 1, 1, 1, 2048, 1, "int8-row", "bf16", "bf16", "bf16", "jax",
     "prefill_ms", 0.29},
    {"pope22-palm540b-chat-turn", 118, 64, 1, 1, 1, 64, 64, 64, "int8-row", "bf16", "bf16", "bf16", "jax", "tpot_ms",
     0.029},
    {"llmservingsim-rtxpro6000x2-qwen3-32b-decode-t21-29", 64, 2, 1, 1, 1, 128, 1009, 1, "bf16", "bf16", "bf16", "bf16",
     "vllm", "decode_tok_s", 2224},
    {"gpustack-qwen3-8b-h100-latency-vllm-base-tp1-i233-o221-c4", 36, 1, 1, 1, 1, 4, 233, 221, "bf16", "bf16", "bf16",
     "bf16", "vllm", "ttft_ms", 0.064},
    {"infmax-deepseek-v3-h200-sxm-sglang-fp8-tp8-i1024-o1024-c4", 61, 8, 1, 1, 1, 4, 922, 922, "fp8-block", "bf16",
     "fp8", "bf16", "sglang", "tpot_ms", 0.010292},
    {"mlxlm-m4max-qwen3-4b-bf16", 36, 1, 1, 1, 1, 1, 2048, 128, "bf16", "bf16", "fp16", "fp16", "mlx-lm",
     "decode_tok_s", 52.47},
    {"llmcompass-gpt3-layer-prefill-4xa100", 96, 4, 1, 1, 1, 8, 2048, 1, "fp16", "fp16", "fp16", "fp16", "pytorch",
     "layer_ms", 0.0667472},
    {"nvgap-llama-3.1-8b-h100-sxm-trtllm-bf16-tp1-i1024-o128-c32", 32, 1, 1, 1, 1, 32, 1024, 128, "bf16", "bf16",
     "bf16", "bf16", "tensorrt-llm", "tpot_ms", 0.013187},
};

bool near(double a, double b) { return std::fabs(a / b - 1) < 1e-12; }

}  // namespace

TEST_CASE("a sample row of each source gives the expected architecture, plan and layout", "[inference-case]") {
  for (const Seen& s : seen) {
    INFO(s.id);
    const InferenceCase c = case_called(s.id);
    REQUIRE(c.skip == "");
    CHECK(c.arch.layers == s.layers);
    CHECK((ranks(c.layout, Group::tensor) == s.tp && ranks(c.layout, Group::pipeline) == s.pp));
    CHECK((ranks(c.layout, Group::expert) == s.ep && replicas(c.layout) == s.dp));
    CHECK((c.plan.batch == s.batch && c.plan.prompt == s.prompt && c.plan.generate == s.generate));
    const Component blocks = c.arch.has_experts() ? Component::experts : Component::mlp;
    CHECK(c.plan.weight_precision[blocks].name() == s.mlp);
    CHECK(c.plan.weight_precision[Component::lm_head].name() == s.head);
    CHECK(c.plan.precision.name() == s.precision);
    CHECK(c.plan.kv_precision.keys.name() == s.cache);
    CHECK(c.engine.name == s.engine);
    CHECK(near(figure_called(c, s.key).value, s.value));
  }
  CHECK(std::size(seen) == 44);
}

TEST_CASE("every published inference row can be expressed as a plan and predicted", "[inference-case]") {
  std::map<std::string, int> skipped;
  std::size_t figures = 0;
  for (const InferenceRow& row : inference_rows()) {
    const InferenceCase c = inference_case(row, devices_once());
    INFO(row.id);
    if (!c.skip.empty()) {
      ++skipped[c.skip];
      continue;
    }
    figures += c.figures.size();
    CHECK(c.figures.size() == row.measured.size());
    CHECK_FALSE(c.figures.front().repeats);
    const InferEstimate e = infer(c.arch, c.plan, c.layout, c.cluster());
    CHECK((e.bound.first_token.value > 0 && e.memory.total.value > 0));
  }
  CHECK(skipped ==
        std::map<std::string, int>{{"the row does not state the number of engines for prefill and decode", 5}});
  CHECK(figures > 1200);
}

TEST_CASE("figures in base units for all devices together convert back to the row's values", "[inference-case]") {
  for (const InferenceRow& row : inference_rows())
    for (const Figure& f : inference_case(row, devices_once()).figures)
      for (const auto& [key, value] : row.measured)
        if (key == f.key && value != 0) CHECK(near(f.value / f.unit, value));
}

TEST_CASE("equivalent figures are marked as repeats of the most direct one", "[inference-case]") {
  const auto repeats = [](const char* id, const char* key) { return figure_called(case_called(id), key).repeats; };
  CHECK_FALSE(repeats("qwen25-vllm-a100-0.5b-bf16-tp1-i1", "output_tok_s"));
  CHECK(repeats("qwen25-vllm-a100-0.5b-bf16-tp1-i1", "e2e_latency_ms"));
  CHECK(repeats("spark-gemma-3-4b-pp512-b1", "decode_total_ms"));
  CHECK(repeats("spark-gemma-3-4b-pp512-b1", "prefill_ms"));
  CHECK_FALSE(repeats("spark-gemma-3-4b-pp512-b1", "prefill_tok_s"));
  CHECK(repeats("pope22-palm-540b-low-latency-prefill", "mfu_pct"));
  // 28.84 tokens/s are one per 34.67 ms. For 8 sequences, a rate that includes prompts is not equivalent to the time
  // per token.
  CHECK(repeats("neuron-inf2-llama-3-70b-tp24-b1-i2048-o2048", "output_tok_s"));
  CHECK_FALSE(repeats("nim18-llama33-70b-2xh100-i5000-o500-c25", "output_tok_s"));
}

TEST_CASE("an unstated context length of a decode step is the length in the middle of the answer", "[inference-case]") {
  const auto context = [](const char* id, const char* key) { return figure_called(case_called(id), key).context; };
  CHECK(context("xdai-3070-8gb-x1-llama-3-8b-q4-k-m-n1024", "decode_tok_s") == 512.0);
  CHECK(context("exllama-4090-llama-7b-g128-actno", "decode_tok_s_first128") == 64.0);
  CHECK(context("exllama-4090-llama-7b-g128-actno", "decode_tok_s_last128") == 1920.0 + 64);
  CHECK(context("spark-gemma-3-4b-pp512-b1", "decode_tok_s") == 512.0 + 16);
  CHECK(context("pope22-palm540b-chat-turn", "tpot_ms") == 1920.0 + 64 + 32);
  CHECK_FALSE(context("spark-gemma-3-4b-pp512-b1", "prefill_tok_s"));
}

TEST_CASE("figures that a row's notes call unreliable are marked as doubtful", "[inference-case]") {
  const auto doubt = [](const char* id, const char* key) { return figure_called(case_called(id), key).doubt; };
  CHECK(doubt("qwen3-hf-h20-qwen3-8b-bf16-g1-i1-mem", "inout_tok_s") == "the row's notes: use its memory only");
  CHECK(doubt("qwen3-hf-h20-qwen3-8b-bf16-g1-i1-mem", "memory_mb") == "");
  CHECK(doubt("autoawq-1x4090-tinyllama-1b-gemv-b1-i64-o64", "prefill_tok_s") ==
        "the row's notes: prefill is not to be used");
  CHECK(doubt("nvgap-llama-3.1-8b-h100-sxm-trtllm-bf16-tp1-i1024-o128-c32", "ttft_ms") ==
        "the row's notes: a burst's time to the first token");
  CHECK(doubt("nim18-llama33-70b-2xh100-i5000-o500-c1", "ttft_ms") == "");
  CHECK(doubt("nim18-llama33-70b-2xh100-i5000-o500-c100", "ttft_ms") == "the row's notes: waiting in a queue");
  CHECK(doubt("llmd-vllm-mem-llama3.3-70b-fp8-tp1-fail", "kv_gib_per_gpu") ==
        "the value is not positive, so no relative error exists");
}

TEST_CASE("a rank on one core of a chip gets that core's share of memory and bandwidth", "[inference-case]") {
  const InferenceCase c = case_called("neuron-inf2-llama-3-70b-tp24-b1-i2048-o2048");
  // Inferentia2: 32 GiB, 820 GiB/s for two cores. 64 heads are padded to 72, a multiple of 24 cores and 8 KV heads.
  CHECK(c.cluster().device.memory == Bytes(Count{16} << 30));
  CHECK(c.cluster().device.bandwidth.value == 410 * gib);
  CHECK(c.cluster().levels[0].ranks == 24);
  CHECK((c.arch.heads == 72 && c.arch.kv_heads == 8));
  InferenceRow tpu = row_called(inference_rows(), "nvgap-llama-3.1-8b-h100-sxm-trtllm-bf16-tp1-i1024-o128-c32");
  tpu.hardware = {};
  tpu.hardware.accelerator = "TPU7x";
  tpu.hardware.count = 4;
  tpu.tp = 8;
  CHECK(inference_case(tpu, devices_once()).cluster().device.memory == Bytes(Count{96} << 30));
}

TEST_CASE("ranks cannot share a GPU, nor can a chip have more ranks than cores", "[inference-case]") {
  InferenceRow row = row_called(inference_rows(), "nvgap-llama-3.1-8b-h100-sxm-trtllm-bf16-tp1-i1024-o128-c32");
  const auto skip = [&](const char* device, Count count, Count tp) {
    row.hardware = {};
    row.hardware.accelerator = device;
    row.hardware.count = count;
    row.tp = tp;
    return inference_case(row, devices_once()).skip;
  };
  CHECK(skip("H100-SXM5-80GB", 2, 8) == "tp x pp x dp is 8 devices, but the row has 2");
  CHECK(skip("H100-SXM5-80GB", 8, 2) == "tp x pp x dp is 2 devices, but the row has 8");
  CHECK(skip("H100-SXM5-80GB", 2, 2) == "");
  CHECK(skip("AWS Inferentia2", 2, 4) == "");
  CHECK(skip("AWS Inferentia2", 1, 4) == "tp x pp x dp is 4 devices, but the row has 1");
  CHECK(skip("AWS Trainium2", 1, 4) == "");
  CHECK(skip("AMD Instinct MI250X", 4, 8) == "");
}

TEST_CASE("a row is skipped if its weights do not fit on the devices", "[inference-case]") {
  InferenceRow row = row_called(inference_rows(), "qwen72b-vllm-2xa100-b1-o2048");
  row.hardware.accelerator = "RTX 4090";
  row.hardware.memory_gb = 24;
  row.hardware.peak_bw_gb_s = std::nullopt;
  CHECK_THAT(inference_case(row, devices_once()).skip,
             Catch::StartsWith("weights of 6") &&
                 Catch::EndsWith("GiB per device exceed its 24 GiB, and the location of the rest is not stated"));
}

TEST_CASE("experts are padded with copies, and their widths are sharded across the remaining ranks",
          "[inference-case]") {
  const InferenceCase decode = case_called("lmsys-96h100-decode-2k");
  CHECK(decode.arch.moe.experts == 288);  // 72 x 4
  CHECK(decode.plan.batch == 256);        // per GPU, and each GPU is a replica
  CHECK(decode.batch == 72 * 256.0);
  for (const InferenceRow& row : inference_rows()) {
    if (row.tp != 4 || row.ep != 2) continue;
    const InferenceCase c = inference_case(row, devices_once());
    CHECK(ranks(c.layout, Group::expert) == 1);  // without attention replicas, no tokens are exchanged
    CHECK(ranks(c.layout, Group::expert_tensor) == 4);
  }
}

TEST_CASE("weight formats are parsed in every spelling that sources use", "[inference-case]") {
  const auto mlp = [](const char* said) {
    const FormatsSaid f = formats_of(said, "fp16", "fp16", dtypes::bf16);
    return f.skip.empty() ? std::string(f.weights[Component::mlp].name()) : "?";
  };
  CHECK(mlp("Q8_0 (8.5 bpw)") == "q8_0");
  CHECK(mlp("Q5_K_M") == "q5_k");
  CHECK(mlp("IQ4_XS") == "iq4_xs");
  CHECK(mlp("AWQ int4 g128") == "awq");
  CHECK(mlp("GPTQ int8") == "gptq-8bit");
  CHECK(mlp("GPTQ int4 g128 act-order=yes") == "gptq-act");
  CHECK(mlp("int4 g64 (4.5 bpw)") == "q4_0");  // 4 bits plus a scale and a zero of 16 bits per 64: 4.5
  CHECK(mlp("int5 g32 (6.0 bpw)") == "q5_1");
  CHECK(mlp("int8 g64 (8.5 bpw)") == "q8_0");
  CHECK(mlp("EXL2 2.5 bpw") == "q2_k");
  CHECK(mlp("int8 weight-only") == "int8-row");
  CHECK(mlp("fp8 (block 128)") == "fp8-block");
  CHECK(mlp("fp8 dynamic") == "fp8-row");
  CHECK(mlp("tea leaves") == "?");
  const FormatsSaid gpt = formats_of("mxfp4 (MoE) + bf16", "fp8", "mxfp4/mxfp8 MoE, bf16 attention", dtypes::bf16);
  CHECK((gpt.weights[Component::experts].name() == "mxfp4" && gpt.weights[Component::attention].name() == "bf16"));
  CHECK((gpt.precision.name() == "fp8" && gpt.cache.name() == "fp8"));
  CHECK(formats_of("Q4_K_M (4.85 bpw)", "fp16", "fp16", dtypes::bf16).bits_per_weight == 4.85);
  CHECK(formats_of("Q4_0 QAT (2.35 GiB)", "fp16", "fp16", dtypes::bf16).weight_bytes == 2.35 * gib);
}

TEST_CASE("the replacement of an unsupported format is reported, and tables show the original name",
          "[inference-case]") {
  const auto read = [](const char* said) { return formats_of(said, "fp16", "fp16", dtypes::bf16); };
  const auto mlp = [](const FormatsSaid& f) { return std::string(f.weights[Component::mlp].name()); };
  for (const auto& [said, format, name] : {std::tuple{"4bit", "int4", "4-bit"},
                                           {"HQQ 4-bit", "q4_0", "hqq 4-bit"},
                                           {"1.58bit", "tq1_0", "1.58-bit"},
                                           {"8bit", "int8-row", "8-bit"},
                                           {"Q4_K_M (4.85 bpw)", "q4_1", "q4_k_m"},
                                           {"EXL2 2.5 bpw", "q2_k", "exl2 2.5 bpw"},
                                           {"int4 g64 (4.5 bpw)", "q4_0", "int4 g64"}}) {
    INFO(said);
    const FormatsSaid f = read(said);
    REQUIRE(f.skip == "");
    CHECK(mlp(f) == format);
    CHECK(f.name == name);
    REQUIRE(f.assumed.size() == 1);
    CHECK_THAT(f.assumed[0], Contains(std::string("count as ") + format));
  }
  CHECK(mlp(read("IQ2_XXS")) == "iq2_xxs");
  CHECK(read("IQ2_XXS").assumed.empty());
  CHECK(read("bf16").name == "");
  CHECK(mlp(read("GPTQ 3bit")) == "gptq-3bit");
  CHECK_FALSE(read("99bit").skip.empty());
}

TEST_CASE("a missing or unknown format is assumed and reported", "[inference-case]") {
  const FormatsSaid none = formats_of("", "fp5", "fp5", dtypes::bf16);
  CHECK(none.skip == "");
  CHECK(none.weighty);
  CHECK(none.assumed == std::vector<std::string>{"weights in bf16: the row does not state their format",
                                                 "matmuls in bf16: unknown format of activations \"fp5\"",
                                                 "keys and values in bf16: unknown format \"fp5\""});
  CHECK((formats_of("bf16", "fp5", "bf16", dtypes::bf16).weighty &&
         formats_of("bf16", "bf16", "fp5", dtypes::bf16).weighty));
  const FormatsSaid silent = formats_of("bf16", "", "", dtypes::bf16);
  CHECK(silent.assumed.size() == 2);
  CHECK_FALSE(silent.weighty);
  CHECK(formats_of("bf16", "fp8 (MLA latent)", "bf16", dtypes::bf16).assumed.empty());
  InferenceRow row = row_called(inference_rows(), "vllm-arcb60-gpt-oss-20b-tp1-i1024-c75");
  row.weights = "";
  CHECK(inference_case(row, devices_once()).input_assumed);
}

TEST_CASE("engines are recognized only by their whole names", "[inference-case]") {
  for (const char* other :
       {"ktransformers", "KTransformers 0.2", "exllamav3", "ExLlama-v3 0.0.1", "vllm-foo fork", "minim"})
    CHECK_FALSE(engine_name(other, "").known);
  for (const auto& [said, name] : {std::pair{"vLLM", "vllm"},
                                   {"vllm-0.6.3", "vllm"},
                                   {"vLLM==0.6.3", "vllm"},
                                   {"exllamav2 0.1", "exllamav2"},
                                   {"text-generation-inference 2.0", "tgi"},
                                   {"TensorRT_LLM 0.9", "tensorrt-llm"},
                                   {"deepspeed-mii", "deepspeed"},
                                   {"mlx_lm 0.28", "mlx-lm"},
                                   {"HF Transformers 4.51", "transformers"}})
    CHECK(engine_name(said, "").name == name);
  CHECK(engine_name("vllm-0.6.3", "").version == "0.6.3");
}

TEST_CASE("engine versions and eager mode are read from a row's text", "[inference-case]") {
  CHECK(engine_name("vLLM 0.6.3", "").version == "0.6.3");
  CHECK(engine_name("vLLM (PyTorch 2.1, late 2023)", "").version == "");
  CHECK(engine_name("NVIDIA NIM 1.8.0 (TensorRT-LLM)", "").name == "tensorrt-llm");
  CHECK(engine_name("Transformers NeuronX (Neuron 2.18.0)", "").name == "transformers-neuronx");
  CHECK(engine_name("HF Transformers 4.46 + FlashAttention 2.5.8", "").version == "4.46");
  CHECK(engine_name("vLLM 0.6.3", "max_model_len=4096 enforce_eager=True").eager);
  for (const char* eager : {"enforce eager", "--enforce-eager", "enforce_eager: true", "eager mode", "CUDA graphs off"})
    CHECK(engine_name("vLLM 0.6.3", eager).eager);
  CHECK(engine_name("vLLM 0.11.0 (enforce-eager)", "").eager);
  for (const char* recorded : {"enforce_eager=False", "enforce eager off", "no enforce-eager", "CUDA graphs on"})
    CHECK_FALSE(engine_name("vLLM 0.6.3", recorded).eager);
  CHECK_FALSE(engine_name("Wonder Engine 3", "").known);
  CHECK(engine_name("llama.cpp (May 2024)", "").version == "2024-05");
  CHECK(engine_name("ATOM", "").name == "atom");
  CHECK(engine_name("SGLang 0.5.10 + ATOM plugin", "").name == "sglang");
}

TEST_CASE("a version is a release, a build or otherwise the date of the run", "[inference-case]") {
  CHECK(version_said("about 0.11", "2025-12") == "0.11");
  CHECK(version_said("b9187", "2026-05-16") == "b9187");
  CHECK(version_said("1.2.0rc2.post2", "") == "1.2.0rc2.post2");
  CHECK(version_said("13f2b28", "2026-07-23") == "2026-07-23");
  CHECK(version_said("nightly-dev", "2026-07/08") == "");
}

TEST_CASE("a device without a preset is an assumed input, and has no time estimates without a bandwidth",
          "[inference-case]") {
  InferenceRow row = row_called(inference_rows(), "vllm-arcb60-gpt-oss-20b-tp1-i1024-c75");
  row.hardware.accelerator = "Foo X100";
  const InferenceCase c = inference_case(row, devices_once());
  REQUIRE(c.skip == "");
  CHECK(c.input_assumed);
  CHECK(inference_class(c, FigureKind::time_per_token) == InferenceClass::assumed);
  row.hardware.peak_bw_gb_s = std::nullopt;
  CHECK(inference_case(row, devices_once()).skip ==
        "no preset is named \"Foo X100\", and the row does not state its bandwidth");
  row.batch.kind = "capacity";  // memory only
  CHECK(inference_case(row, devices_once()).skip == "");
}

TEST_CASE("assumptions about unstated request properties are reported in full sentences", "[inference-case]") {
  const auto assumed = [](const InferenceRow& row) {
    const InferenceCase c = inference_case(row, devices_once());
    CHECK(c.input_assumed);
    return c.assumed;
  };
  const auto has = [](const std::vector<std::string>& all, const std::string& sentence) {
    return std::find(all.begin(), all.end(), sentence) != all.end();
  };
  InferenceRow row = row_called(inference_rows(), "vllm-arcb60-gpt-oss-20b-tp1-i1024-c75");
  row.batch = {};
  row.engine = "";
  const std::vector<std::string> bare = assumed(row);
  CHECK(has(bare, "prompts of 8 tokens: the row states neither \"input_len\" nor \"context_len\""));
  CHECK(has(bare, "one sequence at a time: the row does not state the batch"));
  CHECK(has(bare, "an engine that replays captured graphs: the engine is not stated"));
  row.batch.context_said = "short";
  row.engine = "Foo";
  CHECK(has(assumed(row), "prompts of 8 tokens: the row says \"short\""));
  CHECK(has(assumed(row), "an engine that replays captured graphs: \"Foo\" is unknown"));
  // 32 devices with 16384 tokens in prompts of 2000: 262.144
  CHECK(has(assumed(row_called(inference_rows(), "lmsys-96h100-prefill-2k")),
            "262 sequences at once, 16384 prompt tokens of each device: the row does not state the batch"));
}

TEST_CASE("memory in GB that is smaller than the weights is read as GiB", "[inference-case]") {
  // Qwen2.5-72B in bf16: 72.7e9 x 2 bytes are 145.4e9; the row's 136.2 "GB" are 146.2e9 bytes.
  const InferenceCase c = case_called("qwen25-hf-a100-72b-bf16-g2-i1-mem");
  CHECK(near(figure_called(c, "memory_gb").value, 136.2 * gib));
  CHECK(figure_called(c, "memory_gb").devices == ranks(c.layout, Group::pipeline));
}

TEST_CASE("a row's memory and bandwidth override the preset's", "[inference-case]") {
  const InferenceCase pro = case_called("llmservingsim-rtxpro6000x2-qwen3-32b-decode-t21-29");
  CHECK(pro.cluster().device.bandwidth.value == 1597e9);
  CHECK(pro.decode_window);
  CHECK(case_called("mlxlm-m4max-qwen3-4b-bf16").cluster().device.memory == Bytes(Count{64} << 30));
}

TEST_CASE("a disaggregated row has engines for prompts and engines for answers", "[inference-case]") {
  const InferenceCase c = case_called("ix-dsr1-h200-dynamo-trt-fp8-none-tp8-ep8-i8192-o1024-c768-2026-03-23");
  REQUIRE(c.skip == "");
  REQUIRE(c.prompt_pool.has_value());
  CHECK(mul(devices(c.prompt_pool->layout), c.prompt_pool->engines) + mul(devices(c.layout), c.engines) == 64);
  CHECK(c.engine.name == "tensorrt-llm");
  CHECK(c.engine.version == "2026-03-23");  // a Dynamo release is not the engine's
  CHECK(inference_class(c, FigureKind::time_per_token) == InferenceClass::pooled);
  CHECK(inference_class(c, FigureKind::first_token) == InferenceClass::pooled_first);
}

TEST_CASE("a row whose modules draft tokens is predicted with assumed drafts", "[inference-case]") {
  const InferenceCase c = case_called("ix-dsr1-b200-sglang-fp8-mtp-tp8-ep1-i1024-o8192-c512-2026-03-25");
  CHECK(c.drafts == 2);
  CHECK(c.plan.mtp == 1);
  CHECK(c.input_assumed);
  InferenceCase plain = c;
  plain.drafts = plain.plan.mtp = 0;
  plain.arch.mtp = {};
  const Figure& each = figure_called(c, "tpot_ms");
  CHECK(PredictedCase(c).figure(each)->value < 0.8 * PredictedCase(plain).figure(each)->value);
}

TEST_CASE("an output rate that contradicts the latencies of a disaggregated row is doubtful", "[inference-case]") {
  const auto doubt = [](const char* id) { return figure_called(case_called(id), "output_tok_s").doubt; };
  CHECK(doubt("ix-dsr1-h200-dynamo-trt-fp8-none-tp8-ep8-i8192-o1024-c768-2026-03-23") ==
        "the rate contradicts the row's clients and latencies");
}
