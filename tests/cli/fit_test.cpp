// 'llmcalc fit': the models that a device can run.

#include <fmt/format.h>

#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

std::string refusal(const std::string& words) {
  const test::Ran r = test::llmcalc(words);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  return r.err;
}

/// A model's row in a report of 'fit'. Fails the test if it is missing.
json::Value row_of(const json::Value& report, const std::string& model) {
  for (const json::Value& row : report["runnable"])
    if (row["model"] == model) return row;
  FAIL("no row of " << model);
  return {};
}

}  // namespace

TEST_CASE("the speeds in a row of fit match infer's with the same model and weights", "[fit][cli]") {
  const json::Value fit = test::ask("fit llama-3.1-8b --hardware rtx-4090 --context 4096");
  REQUIRE(fit["runnable"].size() == 9);  // bf16 and eight GGUF formats
  for (const json::Value& row : fit["runnable"]) {
    const std::string weights = row.contains("format") ? row["format"] : row["weight_precision"]["all"];
    CAPTURE(weights);
    const json::Value infer = test::ask(
        "infer llama-3.1-8b --hardware rtx-4090 --prompt 3840 --generate 256 --memory-utilization 0.9 "
        "--weight-precision " +
        weights);
    CHECK(row["tokens_per_s_per_sequence"] == infer["decode"]["tokens_per_s_per_sequence"]);
    CHECK(row["tokens_per_s_per_sequence_low"] == infer["decode"]["tokens_per_s_per_sequence_low"]);
    CHECK(row["prompt_tokens_per_s"] == infer["prefill"]["tokens_per_s"]);
  }
}

TEST_CASE("each row of fit matches the longest context, largest batch and memory that serve reports", "[fit][cli]") {
  for (const std::string server :
       {"llama-3.1-8b --hardware rtx-4090", "qwen3-32b --hardware rtx-5090", "llama-3.1-70b --hardware h100 --tp 4",
        "qwen3-8b --hardware m1-max", "gpt-oss-20b --hardware rtx-4090", "gemma-3-27b --hardware h100"}) {
    const json::Value fit = test::ask("fit " + server + " --prompt 3840 --generate 256");
    REQUIRE_FALSE(fit["runnable"].empty());
    for (const json::Value& row : fit["runnable"]) {
      if (!row["weight_precision"].contains("all")) continue;
      std::string weights = row.contains("format") ? row["format"] : row["weight_precision"]["all"];
      const std::string precision = row["precision"];
      if (!row.contains("format"))
        for (const auto& [part, format] : row["weight_precision"].items())
          if (part != "all") weights += "," + part + "=" + format.get<std::string>();
      CAPTURE(server, weights);
      const json::Value run =
          test::ask("serve " + server + " --prompt 3840 --generate 256 --rate 0.01 --num-requests 2 " +
                    "--weight-precision " + weights + " --precision " + precision);
      const json::Value& m = run["engine_memory"];
      const Count longest = m["longest_sequence"], seqs = run["inputs"]["max_seqs"];
      CHECK(row["max_context"] == longest);
      CHECK(std::min(row["max_batch"].get<Count>(), seqs) == m["most_sequences"]);
      const Count others = m["granted_bytes"].get<Count>() - m["kv_cache_bytes"].get<Count>();
      CHECK(row["peak_bytes"] > others);
      CHECK(row["peak_bytes"] <= m["granted_bytes"]);
    }
  }
}

TEST_CASE("a long prompt is computed in chunks, so a model fits if its cache does", "[fit][cli]") {
  const json::Value fit = test::ask("fit qwen3-32b --hardware rtx-5090 --context 40k");
  REQUIRE_FALSE(fit["runnable"].empty());
  CHECK(fit["runnable"][0]["max_context"] >= 40'000);
}

TEST_CASE("fit shows every model once, largest first, in the widest weight format that fits", "[fit][cli]") {
  const json::Value fit = test::ask("fit --hardware rtx-4090");
  const std::size_t models = test::ask("list models")["models"].size();
  CHECK(fit["runnable"].size() + fit["left_out"].size() == models);
  Count last = fit["runnable"][0]["parameters"];
  for (const json::Value& row : fit["runnable"]) {
    CHECK(row["parameters"] <= last);
    last = row["parameters"];
    CHECK(row["peak_bytes"].get<double>() <= 0.99 * 24 * (1 << 30));
  }
  CHECK(row_of(fit, "llama-3.1-8b")["weight_precision"]["all"] == "bf16");  // 15 of 24 GiB
  CHECK(row_of(fit, "qwen2.5-14b")["weight_precision"]["all"] == "q8_0");   // 27.5 GiB in bf16, 14.6 in 8.5 bits
  CHECK(row_of(fit, "qwen2.5-32b")["weight_precision"]["all"] == "q5_k");  // 32.8e9 x 5.5 bits take 21 GiB, 4.5 bits 17
  for (const json::Value& out : fit["left_out"]) {
    const bool encoder = out["model"] == "bge-large-en-v1.5";
    CHECK_THAT(out["reason"].get<std::string>(),
               Catch::Contains(encoder ? "does not generate text" : "does not fit rtx-4090"));
  }
}

TEST_CASE("fit omits models that are too slow or whose context is too short", "[fit][cli]") {
  const json::Value fit = test::ask("fit --hardware rtx-4090 --context 32k --min-speed 100");
  for (const json::Value& row : fit["runnable"]) {
    CHECK(row["tokens_per_s_per_sequence"] >= 100);
    CHECK(row["max_context"] >= 32000);
  }
  const json::Value slow = test::ask("fit qwen2.5-32b gpt2 --hardware rtx-4090 --context 4k --min-speed 100");
  REQUIRE(slow["runnable"].empty());
  CHECK(slow["left_out"][0]["reason"] == "slower than 100 tokens/s");
  CHECK(slow["left_out"][1]["reason"] == "--context 4000: gpt-2-124m supports at most 1024 tokens");
}

TEST_CASE("on a server card, fit offers the weight formats for which the card has a matmul peak", "[fit][cli]") {
  const json::Value h100 = test::ask("fit llama-3.1-8b --hardware h100")["runnable"];
  REQUIRE(h100.size() == 3);
  CHECK(h100[1]["weight_precision"]["all"] == "fp8-row");
  CHECK(h100[1]["precision"] == "fp8");
  CHECK(h100[2]["precision"] == "bf16");
  const json::Value a100 = test::ask("fit llama-3.1-8b --hardware a100")["runnable"];
  CHECK(a100[1]["precision"] == "bf16");  // without an fp8 peak, weights are dequantized
}

TEST_CASE("on a card that fits no model, fit reports the needs of the smallest model", "[fit][cli]") {
  const test::Ran r = test::llmcalc("fit llama-3.1-405b --hardware rtx-4090 --software vllm");
  CHECK(r.code == 0);
  CHECK(r.out.find("runs      0 of 1 models") != std::string::npos);
  CHECK(r.out.find("available: 21.64 GiB") != std::string::npos);  // 0.92 of the visible 23.52
}

TEST_CASE("fit falls back to 2-bit mixes, then to experts and layers on the host", "[fit][host][cli]") {
  const json::Value dense = test::ask("fit llama-3.1-70b --hardware rtx-4090 --context 2048")["runnable"],
                    sparse = test::ask("fit qwen3-30b-a3b --hardware rtx-3070")["runnable"];
  CHECK(dense[0]["format"] == "iq2_xs");
  CHECK(dense[0]["peak_bytes"].get<double>() / (1 << 30) == Approx(20.6).margin(0.5));
  const json::Value &layers = dense.back(), &experts = sparse.back();
  CHECK(layers["format"] == "q4_k_m");
  CHECK_THAT(layers["offload"].get<std::string>(), Catch::StartsWith("weights:0."));
  CHECK(experts["offload"] == "experts");
  CHECK(experts["host_bytes"].get<double>() > 15e9);
  // One layer fewer on the host does not fit.
  const double share = std::stod(layers["offload"].get<std::string>().substr(8)) - 1.0 / 80;
  CHECK(test::ask(fmt::format("infer llama-3.1-70b --hardware rtx-4090 --weight-precision q4_k_m --offload "
                              "weights:{:.6f} --prompt 1792 --generate 256",
                              share))["inference_memory"]["fits"] == false);
}

TEST_CASE("fit rejects invalid and contradictory options", "[fit][cli]") {
  CHECK(refusal("fit --use prose --hardware h100").find("--use: expected chat, code or all") != std::string::npos);
  CHECK(refusal("fit --hardware h10").find("did you mean") != std::string::npos);
  CHECK(refusal("fit lama --hardware h100").find("unknown model \"lama\"") != std::string::npos);
  CHECK(refusal("fit --hardware h100 --context 0").find("--context: expected a positive") != std::string::npos);
  CHECK(refusal("fit --hardware h100 --min-speed -1").find("--min-speed: ") != std::string::npos);
  CHECK(refusal("fit --hardware h100 --context 4k --prompt 2k") ==
        "llmcalc: --context covers the prompt and the answer; omit --prompt or --context\n");
  CHECK(refusal("fit --hardware a100 --precision fp8").find("a100-sxm-80gb") != std::string::npos);
  CHECK(refusal("fit --hardware h100 --batch none").find("--batch: expected") != std::string::npos);
}

TEST_CASE("the table that fit prints is at most 80 columns wide", "[fit][cli]") {
  for (const char* hardware : {"rtx-4090", "h200", "m1", "amd-epyc-9755", "trainium2"}) {
    std::istringstream lines(test::llmcalc("fit --hardware " + std::string(hardware)).out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(hardware, line);
      CHECK(line.size() <= 80);
    }
  }
}

// Mistral 7B v0.1 has a window of 4096 tokens in every layer, with 32 x 2 x 8 x 128 two-byte elements per token. A
// sequence holds the 257 blocks of 16 tokens that a window spans. During prefill it holds the blocks of the window plus
// a pass of 2048 tokens: ceil((4095 + 2048) / 16) + 1 = 385.
TEST_CASE("a model with sliding windows in every layer caches no more tokens than its windows", "[serve][fit][cli]") {
  const json::Value m = test::ask(
      "serve mistral-7b-v0.1 --hardware rtx-4090 --software vllm --prompt 12000 --generate 300 --rate 0.1 "
      "--num-requests 20");
  const json::Value& memory = m["engine_memory"];
  CHECK(memory["most_sequences"] == memory["blocks"].get<Count>() / 385);
  CHECK(memory["blocks"] == memory["kv_cache_bytes"].get<Count>() / (16 * 131072));
  CHECK_FALSE(memory.contains("longest_sequence"));  // any length fits
  const auto peak = [](const char* context) {
    const std::string words =
        "fit mistral-7b-v0.1 --hardware rtx-4090 --software vllm --weight-precision bf16 --context ";
    return row_of(test::ask(words + context), "mistral-7b-v0.1")["peak_bytes"].get<double>();
  };
  CHECK(peak("30000") - peak("4096") == (385 - 256) * 16 * 131072.0);
}

TEST_CASE("fit's short list has recent models, and models that fit in 4 bits or more come first", "[fit][cli]") {
  const std::string out = test::llmcalc("fit --hardware rtx-4090").out;
  CHECK(std::count(out.begin(), out.end(), '\n') <= 30);
  CHECK_THAT(out, Catch::Contains("released since 2025-05"));
  CHECK(out.find("gpt-oss-20b ") != std::string::npos);
  CHECK(out.find("llama-2-70b") == std::string::npos);
  CHECK(out.find("seed-oss-36b") < out.find("gpt-oss-20b"));
  CHECK_THAT(test::llmcalc("fit --hardware rtx-4090 --full").out, Catch::Contains("llama-2-70b"));
}

TEST_CASE("--use selects models for code or for chat", "[fit][cli]") {
  const json::Value code = test::ask("fit --hardware h100 --use code")["runnable"];
  for (const json::Value& row : code)
    CHECK_THAT(row["model"].get<std::string>(), Catch::Contains("code") || Catch::Contains("devstral"));
  const json::Value chat = test::ask("fit --hardware h100 --use chat")["runnable"];
  CHECK(chat.size() + code.size() == test::ask("fit --hardware h100")["runnable"].size());
}
