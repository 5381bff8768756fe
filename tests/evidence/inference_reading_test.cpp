// Inference rows with terms and keys that the published rows lack.

#include <algorithm>

#include "calc/infer.hpp"
#include "evidence/case_memory.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/words/engine_words.hpp"
#include "evidence/inference_times.hpp"
#include "evidence/names/format_name.hpp"
#include "evidence/names/inference_stack.hpp"
#include "evidence/rows/inference_case.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Contains;

namespace {

Figure figure(FigureKind quantity, Statistic statistic = Statistic::mean) {
  Figure f;
  f.quantity = quantity;
  f.statistic = statistic;
  return f;
}
double seconds_of(const InferenceCase& c, const Figure& f) {
  return *InferenceTimes(c, inference_stack(c), c.cluster()).figure(f);
}

/// A row with the given requests and measurements, on one L40S.
InferenceRow row_of(const std::string& engine, const std::string& batch, const std::string& measured) {
  return read_old_file(R"([{"id": "i", "source": {"title": "s"}, "model": {"arch": {"layers": 32, "hidden": 4096,
    "heads": 32, "kv_heads": 8, "ffn": 14336, "vocab": 128256, "gated_mlp": true, "tied_embeddings": false}}, "quantization": {"weights": "bf16", "kv": "fp16"},
    "hardware": {"accelerator": "NVIDIA L40S", "count": 1}, "engine": ")" +
                           engine + R"(", "batch": )" + batch + R"(, "measured": )" + measured + "}]",
                       "f")
      .inference.at(0);
}

double memory_of(const InferenceRow& row) {
  const InferenceCase c = read(row);
  REQUIRE(c.skip == "");
  return *predicted_memory(c, c.figures.at(0));
}

}  // namespace

TEST_CASE("an unstated vocabulary of an inference row is an assumed input", "[inference-reading]") {
  InferenceRow row = llama_row();
  CHECK_FALSE(read(row).input_assumed);
  row.model.vocab = std::nullopt;
  CHECK_FALSE(read(row).input_assumed);
  CHECK(read(row).arch.vocabulary == 128256);  // vocabulary of the preset named in the row
  row.model.name = "a model of ours";
  CHECK(read(row).input_assumed);
}

TEST_CASE("a checkpoint's name gives the format if the row does not state it", "[inference-reading]") {
  InferenceRow row = llama_row();
  row.weights = "auto";
  row.model.name = "Llama-3.1-8B-Instruct-AWQ";
  CHECK(read(row).plan.weight_precision[Component::mlp].name() == "awq");
  row.weights = "bf16";
  CHECK(read(row).plan.weight_precision[Component::mlp].name() == "bf16");
}

TEST_CASE("fp16 matmuls on a device without fp16 run in bf16, with a note", "[inference-reading]") {
  InferenceRow row = llama_row();
  row.weights = row.activations = row.kv = "fp16";
  row.hardware = {};
  row.hardware.accelerator = "TPU v5p";
  const InferenceCase c = read(row);
  REQUIRE(c.skip == "");
  CHECK(c.cluster().device.peak(dtypes::fp16).value == 0);
  CHECK(c.plan.precision.name() == "bf16");
  CHECK_THAT(c.assumed,
             Catch::VectorContains(std::string("matmuls in bf16: TPU v5p does not support matmuls in fp16")));
}

TEST_CASE("prompt and answer add up to the length of the sequence", "[inference-reading]") {
  const std::string time = R"({"e2e_latency_ms": 7000})";
  const InferenceCase answer = read(row_of("vLLM", R"({"batch": 1, "input_len": 128, "total_len": 1024})", time));
  CHECK((answer.prompt == 128 && answer.generate == 896));
  const InferenceCase prompt = read(row_of("vLLM", R"({"batch": 1, "output_len": 128, "total_len": 1024})", time));
  CHECK((prompt.prompt == 896 && prompt.generate == 128));
}

TEST_CASE("a prompt after a cached context and its whole answer attend to that context", "[inference-reading]") {
  InferenceRow row = llama_row();
  row.batch.kind = "static";
  row.batch.batch = 1;
  row.batch.input_len = 512;
  const InferenceCase empty = read(row);
  row.batch.cached_context = 32768;
  const InferenceCase deep = read(row);
  for (const FigureKind q : {FigureKind::first_token, FigureKind::whole_time})
    CHECK(seconds_of(deep, figure(q)) > seconds_of(empty, figure(q)));
  // The last 512 of 33280 tokens: attention of all tokens minus attention of the first 32768, with weights read once.
  const auto prompt = [&](Count tokens) {
    Plan plan = empty.plan;
    plan.prompt = tokens;
    return prefill(empty.arch, plan, empty.layout, empty.cluster(), tokens).estimate.total().value;
  };
  CHECK(seconds_of(deep, figure(FigureKind::prefill_time)) == Approx(prompt(33280) - prompt(32768)).epsilon(0.05));
}

TEST_CASE("clients start together or spread in time, as the source states", "[inference-reading]") {
  InferenceRow row = row_of("vLLM 0.11", R"({"kind": "concurrency", "batch": 8, "input_len": 100, "output_len": 50})",
                            R"({"itl_p50_ms": 8})");
  for (const auto& [words, start] : {std::pair{"all clients at once (request rate inf, at most batch in flight)",
                                               std::optional(ClientStart::together)},
                                     {"steady state: the running batch is kept at max_num_seqs", ClientStart::spread},
                                     {"", std::nullopt}}) {
    row.batch.start = words;
    CHECK(read(row).start == start);
  }
}

TEST_CASE("llama.cpp with Vulkan has a profile of its own", "[inference-reading]") {
  InferenceRow row = row_of("llama.cpp build 9187", R"({"batch": 1, "input_len": 2048, "output_len": 32})",
                            R"({"prefill_tok_s": 900})");
  row.back_end = "ROCm";
  CHECK_FALSE(inference_stack(read(row)).vulkan);
  row.back_end = "Vulkan";
  CHECK(inference_stack(read(row)).vulkan);
  CHECK(read(row).engine.name == "llama.cpp-vulkan");
}

TEST_CASE("rows have the default limits of their engine on their device", "[inference-reading]") {
  const auto limits = [](const char* engine, const char* accelerator) {
    InferenceRow row = row_of(engine, R"({"kind": "concurrency", "batch": 8, "input_len": 100, "output_len": 50})",
                              R"({"itl_p50_ms": 8})");
    row.hardware.accelerator = accelerator;
    return read(row).limits;
  };
  CHECK(limits("SGLang 0.5.6", "NVIDIA H100-SXM5-80GB").pass_tokens == 8192);
  CHECK(limits("SGLang 0.5.6", "NVIDIA B200-SXM-180GB").pass_tokens == 16384);
  CHECK(limits("vLLM 0.11", "NVIDIA B200-SXM-180GB").pass_tokens == 8192);
  CHECK(limits("TensorRT-LLM 1.0", "NVIDIA H100-SXM5-80GB").sequences == 2048);
}

TEST_CASE("rows of InferenceX have the limits of its launch scripts unless they state others", "[inference-reading]") {
  InferenceRow row = row_of("SGLang 0.5.6", R"({"kind": "concurrency", "batch": 64, "input_len": 1024,
    "output_len": 1024})",
                            R"({"itl_p50_ms": 8})");
  row.source.title = "serving sweeps (identified as InferenceMAX runs)";
  row.model.name = "DeepSeek-V3";
  row.hardware.accelerator = "NVIDIA B200-SXM-180GB";
  row.weights = "fp8";
  const auto expect = [&](Count pass_tokens, Count poll_passes) {
    const EngineLimits l = read(row).limits;
    CHECK(l.pass_tokens == pass_tokens);
    CHECK(l.poll_passes == poll_passes);
  };
  expect(32768, 30);
  row.batch.batch = 4;
  expect(32768, 10);
  row.model.name = "Llama-3.1-8B";  // without a script
  expect(16384, 1);
  row.model.name = "DeepSeek-V3";
  row.source.title = "another source";
  expect(16384, 1);
  row.source.title = "InferenceX";
  row.batch.max_num_batched_tokens = 4096;
  expect(4096, 1);
}

TEST_CASE("percentiles and minima are not treated as means", "[inference-reading]") {
  InferenceRow row = llama_row();
  row.batch.kind = "concurrency";
  row.batch.batch = 64;
  const InferenceCase c = read(row);
  const auto first = [&](Statistic s) { return seconds_of(c, figure(FigureKind::first_token, s)); };
  CHECK(first(Statistic::least) < first(Statistic::mean));
  CHECK(first(Statistic::p99) > first(Statistic::mean));
  CHECK(seconds_of(c, figure(FigureKind::whole_time, Statistic::p99)) > seconds_of(c, figure(FigureKind::whole_time)));
  const InferenceCase keyed = read(row_of("vLLM", R"({"kind": "concurrency", "batch": 8, "input_len": 512,
    "output_len": 64})",
                                          R"({"e2e_latency_p99_ms": 9000, "ttft_min_ms": 50})"));
  REQUIRE(keyed.figures.size() == 2);
  CHECK((keyed.figures[0].statistic == Statistic::least && keyed.figures[1].statistic == Statistic::p99));
}

TEST_CASE("cache blocks have the engine's default size if the row does not state it", "[inference-reading]") {
  const std::string capacity = R"({"kind": "capacity", "max_model_len": 8192})";
  const InferenceCase open = read(row_of("vLLM 0.6.3", capacity, R"({"kv_blocks": 9000})"));
  CHECK(open.figures.at(0).value == 16 * 9000.0);
  CHECK(open.input_assumed);
  const InferenceCase stated = read(row_of("vLLM 0.6.3", capacity, R"({"kv_blocks": 9000, "kv_block_size": 32})"));
  CHECK(stated.figures.at(0).value == 32 * 9000.0);
  CHECK_FALSE(stated.input_assumed);
}

TEST_CASE("without a stated cache pool size, the cache holds one context", "[inference-reading]") {
  const std::string context = R"({"kind": "capacity", "batch": 1, "max_context": 8192})";
  // 32 layers x 8 heads x 128 elements x 2 bytes, keys and values: 128 KiB per token
  CHECK(memory_of(row_of("llama.cpp", context, R"({"kv_mib_total": 1024})")) == 8192.0 * 0x1p17);
  CHECK(memory_of(row_of("llama.cpp", context, R"({"k_size_gb": 0.5})")) == 4096.0 * 0x1p17);
  CHECK(memory_of(row_of("llama.cpp", context, R"({"v_size_gb": 0.5})")) == 4096.0 * 0x1p17);
  const std::string small = R"({"kind": "capacity", "batch": 1, "max_context": 1024})";
  CHECK(memory_of(row_of("llama.cpp", context, R"({"memory_gb": 17})")) -
            memory_of(row_of("llama.cpp", small, R"({"memory_gb": 17})")) ==
        7168.0 * 0x1p17);
}

TEST_CASE("keys use half of a cache pool", "[inference-reading]") {
  const std::string capacity = R"({"kind": "capacity", "max_model_len": 8192})";
  const double whole = memory_of(row_of("SGLang 0.4", capacity, R"({"kv_gib_per_gpu": 20})"));
  CHECK(memory_of(row_of("SGLang 0.4", capacity, R"({"k_size_gb": 10})")) == Approx(whole / 2));
  // SGLang's log divides by 2^30.
  CHECK(read(row_of("SGLang 0.4", capacity, R"({"k_size_gb": 10})")).figures.at(0).value == 10 * 0x1p30);
}

TEST_CASE("devices beyond a stated tensor-parallel degree are replicas; without one they split the model",
          "[inference-reading]") {
  InferenceRow row = llama_row();
  row.hardware.count = 8;
  row.tp = 4;
  row.pp = row.dp = row.ep = std::nullopt;
  const InferenceCase replicas_left = read(row);
  CHECK((replicas_left.layout.tp == 4 && replicas_left.layout.dp == 2 && replicas_left.input_assumed));
  row.tp = std::nullopt;
  CHECK(read(row).layout.tp == 8);
  row.engine = "llama.cpp";
  CHECK(read(row).layout.pp == 8);
}

TEST_CASE("a batch size is per engine, per device or per replica, as stated", "[inference-reading]") {
  InferenceRow row = llama_row();
  row.hardware.count = 8;
  row.tp = 2;
  row.dp = 4;
  row.batch.batch = 16;
  for (const auto& [scope, all] : {std::pair{"engine", 16.0},
                                   {"global", 16.0},
                                   {"per rank", 64.0},
                                   {"per replica", 64.0},
                                   {"per DP rank", 64.0},
                                   {"per GPU", 128.0}}) {
    INFO(scope);
    row.batch.scope = scope;
    CHECK(read(row).batch == all);
  }
}

TEST_CASE("notes that deny an inference feature do not enable it", "[inference-reading]") {
  InferenceRow row = llama_row();
  for (const char* note :
       {"no speculative decoding", "speculative decoding off", "without draft model", "LoRA adapters disabled"}) {
    INFO(note);
    row.notes = note;
    CHECK(read(row).skip == "");
  }
  row.notes = "with speculative decoding";
  CHECK(read(row).skip == "decoding was speculative");
}

TEST_CASE("a row with features beyond plain decoding is skipped, whichever key mentions them", "[inference-reading]") {
  const auto skipped = [](const std::string& engine, const std::string& notes) {
    InferenceRow row = llama_row();
    if (!engine.empty()) row.engine = engine;
    row.notes = notes;
    INFO(engine << notes);
    CHECK(read(row).skip != "");
    return read(row).skip;
  };
  for (const char* note :
       {"MTP enabled", "with MTP-3", "MTP=3", "nextn=3", "NextN speculative", "spec decode", "lookahead decoding",
        "n-gram prompt lookup", "no chunked prefill, MTP on", "num_speculative_tokens: 3", "acceptance length 2.4"})
    CHECK(skipped("", note) == "decoding was speculative");
  for (const char* engine : {"TensorRT-LLM 1.2 (MTP=3)", "SGLang 0.5.9 (MTP on)"})
    CHECK(skipped(engine, "") == "decoding was speculative");
  for (const char* note : {"disaggregated prefill and decode, 4P4D", "PD disaggregation", "1P1D"})
    CHECK_THAT(skipped("", note), Contains("separate devices"));
  for (const char* note : {"CPU offload of 20 GB", "--cpu-offload-gb 20", "experts offloaded to the CPU"})
    CHECK_THAT(skipped("", note), Contains("to the host"));
  for (const char* note : {"prompts cached, 100 % prefix hit", "prefix caching on, 90 % shared", "cache hit rate 0.7"})
    CHECK_THAT(skipped("", note), Contains("cached_context"));
}

TEST_CASE("a row that denies features beyond plain decoding is predicted", "[inference-reading]") {
  InferenceRow row = llama_row();
  for (const char* note :
       {"no MTP", "MTP disabled", "MTP: off", "MTP=0", "Runs that look like MTP were left out.",
        "without speculative decoding", "speculation off", "MTP modules were not loaded", "num_speculative_tokens=0",
        "prefix caching off", "prefix caching on", "0 % prefix hit", "prefix cache hit rate: 0.0 %", "no shared prefix",
        "cpu_offload_gb=0 max_num_seqs=256", "CPU offload of 0 GB", "all layers offloaded to the GPU",
        "not disaggregated", "non-disaggregated"}) {
    INFO(note);
    row.notes = note;
    CHECK(read(row).skip == "");
  }
  row.notes = "100 % prefix hit";
  row.batch.cached_context = 512;
  CHECK(read(row).skip == "");  // the number of tokens is stated
}

TEST_CASE("unknown keys can indicate features beyond plain decoding", "[inference-reading]") {
  const auto with = [](const std::string& key) {
    return read(row_of("vllm", R"({"batch": 1, "kind": "static", "input_len": 128, "output_len": 128, )" + key + "}",
                       R"({"tpot_ms": 20})"));
  };
  for (const char* key : {R"("mtp": 3)", R"("speculative": "MTP 3 tokens")", R"("num_speculative_tokens": 3)",
                          R"("speculative_config": {"method": "eagle3"})"}) {
    INFO(key);
    CHECK(with(key).skip == "decoding was speculative");
  }
  CHECK_THAT(with(R"("cpu_offload_gb": 20)").skip, Contains("to the host"));
  CHECK_THAT(with(R"("prefix_hit_rate": 0.9)").skip, Contains("cached_context"));
  for (const char* key : {R"("mtp": false)", R"("mtp": 0)", R"("speculative": null)", R"("speculative": "none")",
                          R"("cpu_offload_gb": 0)", R"("prefix_hit_rate": 0.0)"}) {
    INFO(key);
    CHECK(with(key).skip == "");
  }
  const std::string file = R"([{"id": "i", "model": {"arch": {"layers": 2, "hidden": 64, "heads": 2}}, "mtp": 1,
    "hardware": {"accelerator": "L40S", "count": 1, "mtp_of_tomorrow": 1}, "measured": {}}])";
  CHECK(read_old_file(file, "f").unknown_keys == std::vector<std::string>{"hardware.mtp_of_tomorrow"});
  CHECK(with(R"("enforce_eager": true)").engine.eager);
  CHECK_FALSE(with(R"("enforce_eager": false)").engine.eager);
}

TEST_CASE("an engine that shares its name with a trainer uses the default inference profile", "[inference-reading]") {
  const InferenceStack usual = inference_stack(engine_name("vLLM 0.10.0", ""));
  Count trainers = 0;
  for (const Builtin& profile : builtin_software()) {
    const SoftwareCard card = load_software(profile.name);
    if (card.inference) continue;
    ++trainers;
    std::vector<std::string> names{std::string(profile.name)};
    for (const std::string_view alias : profile.aliases) names.emplace_back(alias);
    for (const std::string& name : names) {
      INFO(name);
      const EngineName engine = engine_name(name, "");
      if (engine.known) continue;  // MaxText is also an engine
      CHECK(inference_stack(engine) == usual);
    }
  }
  CHECK(trainers > 8);
  CHECK(engine_name("MaxText", "").name == "jax");
  CHECK(inference_stack(engine_name("MaxText", "")) == *load_software("jetstream").inference);
}

TEST_CASE("ms_per_token_per_batch_item is the time of a step divided by its number of sequences",
          "[inference-reading]") {
  const auto with = [](const std::string& batch) {
    return read(row_of("vLLM 0.10.0",
                       R"({"kind": "static", "input_len": 128, "output_len": 128, "batch": )" + batch + "}",
                       R"({"ms_per_token_per_batch_item": 2})"));
  };
  CHECK(with("16").figures.at(0).value == Approx(0.032));
  CHECK(with("1").figures.at(0).value == Approx(0.002));
  CHECK(with("16").assumed.back() ==
        "\"ms_per_token_per_batch_item\" is interpreted as the step time divided by its 16 sequences");
}

TEST_CASE("batch kinds and time keys have several accepted names", "[inference-reading]") {
  const auto with = [](const std::string& kind, const std::string& measured) {
    return read(row_of("vLLM 0.10.0", R"({"batch": 4, "input_len": 128, "output_len": 100, "kind": ")" + kind + R"("})",
                       measured));
  };
  const std::string tpot = R"({"tpot_ms": 20})";
  for (const char* fixed : {"single stream", "single_stream", "batch"})
    CHECK(with(fixed, tpot).kind == BatchKind::fixed);
  for (const char* clients : {"max_concurrency", "concurrent"})
    CHECK(with(clients, tpot).kind == BatchKind::concurrency);
  CHECK(with("burst", tpot).kind == BatchKind::max_inflight);
  CHECK_THAT(with("request_rate", tpot).skip, Contains("unknown kind of batch \"request_rate\""));
  const auto figure_of = [&](const std::string& key, double value) {
    const InferenceCase c = with("static", "{\"" + key + "\": " + std::to_string(value) + "}");
    REQUIRE(c.figures.size() == 1);
    return c.figures[0];
  };
  CHECK(figure_of("tpot_p90_ms", 20).statistic == Statistic::p90);
  CHECK(figure_of("ttft_p95_ms", 200).statistic == Statistic::p95);
  CHECK(figure_of("time_per_output_token_s", 0.02).value == Approx(0.02));
  const Figure requests = figure_of("requests_s", 2);
  CHECK((requests.quantity == FigureKind::output_rate && requests.value == Approx(200)));  // answers of 100 tokens
  const InferenceCase c = with("static", R"({"tok_s_per_user": 50, "tpot_ms": 20})");
  CHECK(seconds_of(c, figure(FigureKind::user_rate)) == Approx(1 / seconds_of(c, figure(FigureKind::time_per_token))));
}

TEST_CASE("attention data parallelism and expert parallelism are counted by the engines' rules",
          "[inference-reading]") {
  InferenceRow row = row_called(inference_rows(), "nvgap-llama-3.1-8b-h100-sxm-trtllm-bf16-tp1-i1024-o128-c32");
  row.hardware.count = 8;
  row.model.experts = 128;
  row.model.top_k = 8;
  row.model.moe_ffn = 768;
  const auto lay = [&](std::optional<Count> tp, std::optional<Count> dp, std::optional<Count> ep) {
    row.tp = tp;
    row.dp = dp;
    row.ep = ep;
    row.pp = 1;
    const InferenceCase c = read(row);
    INFO(c.skip);
    REQUIRE(c.skip == "");
    return c.layout;
  };
  const Layout replicated = lay(8, 8, 8);
  CHECK((replicated.tp == 1 && replicated.dp == 8 && replicated.ep == 8));
  const Layout mixed = lay(8, 4, 8);
  CHECK((mixed.tp == 2 && mixed.dp == 4 && mixed.ep == 8));
  const Layout experts = lay(1, 1, 8);
  CHECK((experts.tp == 1 && experts.dp == 8 && experts.ep == 8));
  CHECK(lay(std::nullopt, 1, 1).tp == 8);
}

TEST_CASE("a row with more clients than its cache can hold has a note", "[inference-reading]") {
  InferenceRow row = llama_row();
  CHECK_FALSE(read(row).input_assumed);
  row.batch.batch = 1024;
  row.batch.input_len = 8192;  // 128 KiB per token: 1 GiB per request
  row.notes = "";
  const InferenceCase c = read(row);
  CHECK_THAT(c.assumed.back(), Contains("of 1024 requests at once"));
  const auto first = std::find_if(c.figures.begin(), c.figures.end(),
                                  [](const Figure& f) { return f.quantity == FigureKind::first_token; });
  REQUIRE(first != c.figures.end());
  CHECK_THAT(first->doubt, Contains("less than half of the clients"));
}
