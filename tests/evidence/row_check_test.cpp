// Rows with figures that are meaningless because a key is missing, or that no device can reach.

#include "evidence/case_check.hpp"

#include <fmt/format.h>

#include "evidence/accuracy.hpp"
#include "evidence/convert/convert.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Contains;

namespace {

/// GPT-22B on 8 A100, without measured values.
std::string training(const std::string& batch, const std::string& measured) {
  return fmt::format(R"([
{{"id": "a", "model": {{"layers": 48, "hidden": 6144, "heads": 64, "ffn_hidden": 24576, "seq_len": 2048}},
  "hardware": {{"gpu": "A100-SXM-80GB", "count": 8}}, "parallelism": {{"tp": 8, "dp": 1}}, "precision": "bf16",
  "batch": {}, "measured": {}}}])",
                     batch, measured);
}
const std::string whole_batch = R"({"micro": 4, "global": 4})";

/// Llama-3.1 8B on an L40S with 864 GB/s and 48 GB.
std::string inference(const std::string& batch, const std::string& measured) {
  return fmt::format(R"([
{{"id": "i", "model": {{"arch": {{"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336,
  "gated_mlp": true}}}}, "quantization": {{"weights": "bf16"}}, "hardware": {{"accelerator": "NVIDIA L40S", "count": 1}},
  "engine": "vLLM 0.6.3", "batch": {}, "measured": {}}}])",
                     batch, measured);
}

std::string refused(const std::string& text, AccuracyKind kind) {
  return sentence([&] { accuracy(read_old(text, "my.json"), kind); });
}
/// The reason why a file's only row has no request for all of its measured values.
std::string incomplete(const std::string& text) {
  const Converted c = convert(text, "my.json");
  return c.unconverted.empty() ? "nothing was rejected" : c.unconverted.at(0).reason;
}
std::string refused_step(const std::string& measured, const std::string& batch = whole_batch) {
  return refused(training(batch, measured), AccuracyKind::training);
}
std::string refused_memory(const std::string& measured) {
  return refused(training(whole_batch, measured), AccuracyKind::memory);
}
std::string refused_figure(const std::string& batch, const std::string& measured) {
  return refused(inference(batch, measured), AccuracyKind::inference);
}
const std::string one = R"({"batch": 1, "input_len": 512, "output_len": 128})";
constexpr const char* nothing = "nothing was rejected";

}  // namespace

TEST_CASE("a step faster than its devices' matmul peak is rejected, whichever key states it", "[row-check]") {
  CHECK(refused_step(R"({"iteration_time_s": 1.4})") == nothing);
  // 6 x 21.7e9 parameters x 8192 tokens and attention, 1.1e15 FLOPs, in 1e-5 s on 8 x 312e12 FLOP/s
  const std::string said = refused_step(R"({"iteration_time_s": 1e-5})");
  CHECK_THAT(said,
             Catch::StartsWith("my.json:2, row \"a\", \"measured\", \"iteration_time_s\": it implies an MFU of 4.") &&
                 Contains("above 1: a step of 1e-05 s exceeds the peak rate of 8 A100 SXM 80GB in bf16"));
  CHECK_THAT(refused_step(R"({"tflops_per_gpu": 1000})"), Contains("\"tflops_per_gpu\": it implies an MFU of"));
  CHECK_THAT(refused_step(R"({"samples_per_s": 1e9})"), Contains("\"samples_per_s\": it implies an MFU of"));
  CHECK_THAT(refused_step(R"({"tokens_per_s_per_gpu": 1e5})", "{}"),
             Contains("\"tokens_per_s_per_gpu\": it implies an MFU"));
}

TEST_CASE("a step time without a batch size is rejected, but a token rate is accepted", "[row-check]") {
  const std::string no_batch =
      "\"batch\": \"global\" is missing; \"iteration_time_s\" requires the number of sequences per step";
  CHECK(incomplete(training(R"({"micro": 4})", R"({"iteration_time_s": 1.4})")) == no_batch);
  CHECK(refused_step(R"({"iteration_time_s": 1.4})", R"({"micro": 4, "grad_accum": 1})") == nothing);
  CHECK(refused_step(R"({"iteration_time_s": 1.4})", R"({"tokens_per_step": 8192})") == nothing);
  CHECK(refused_step(R"({"tokens_per_s": 5000})", "{}") == nothing);
  const Converted with_memory = convert(training("{}", R"({"iteration_time_s": 1.4, "memory_per_gpu_gb": 70})"), "my");
  CHECK(with_memory.unconverted.at(0).reason == no_batch);
  const MeasurementFile file = read_measurements(with_memory.rows.at(0).dump(), "my");
  CHECK(accuracy(file, AccuracyKind::training).skipped.size() == 1);
  CHECK(accuracy(file, AccuracyKind::memory).rows.size() == 1);
}

TEST_CASE("a memory figure is at least 1 MiB and at most the device's memory", "[row-check]") {
  CHECK(refused_memory(R"({"memory_per_gpu_gb": 80})") == nothing);
  CHECK(refused_memory(R"({"memory_per_gpu_gb": 5000})") ==
        "my.json:2, row \"a\", \"measured\", \"memory_per_gpu_gb\": 4657 GiB exceeds the 80 GiB of 1 A100 SXM 80GB; "
        "specify the memory of one device, or a device with more memory");
  CHECK_THAT(refused_memory(R"({"memory_allocated_bytes": 12})"),
             Contains("\"memory_allocated_bytes\": 12 bytes is less than 1 MiB"));
  CHECK_THAT(refused_figure(one, R"({"memory_gb": 500})"), Contains("465.7 GiB exceeds the 48 GiB of 1 L40S"));
  CHECK_THAT(refused_figure(one, R"({"memory_mb": 0.1})"), Contains("is less than 1 MiB"));
}

TEST_CASE("a read rate above the device's bandwidth is rejected, unless the data fits in its cache", "[row-check]") {
  CHECK(refused_figure(one, R"({"achieved_bw_gb_s": 700})") == nothing);
  CHECK(refused_figure(one, R"({"achieved_bw_gb_s": 99999})") ==
        "my.json:2, row \"i\", \"measured\", \"achieved_bw_gb_s\": 99999 GB/s exceeds the 864 GB/s of L40S; specify "
        "bytes read per second in GB");
  std::string small = inference(one, R"({"achieved_bw_gb_s": 1000})");
  small.replace(small.find("\"layers\": 32"), 12, "\"vocab\": 64, \"layers\": 1");
  for (const auto& [wide, narrow] : {std::pair{"4096", "256"}, {"14336", "512"}})
    small.replace(small.find(wide), std::string(wide).size(), narrow);
  CHECK(refused(small, AccuracyKind::inference) == nothing);
}

TEST_CASE("an inference figure is not converted without the lengths and client counts that it needs", "[row-check]") {
  CHECK(incomplete(inference(R"({"batch": 1, "output_len": 8})", R"({"ttft_ms": 90})")) ==
        "\"batch\": \"input_len\" is missing; \"ttft_ms\" requires the length of the prompt");
  CHECK(incomplete(inference(R"({"batch": 1, "input_len": 8})", R"({"e2e_latency_ms": 90})")) ==
        "\"batch\": \"output_len\" is missing; \"e2e_latency_ms\" requires the length of the output");
  CHECK(incomplete(inference(R"({"kind": "concurrency", "input_len": 8, "output_len": 8})", R"({"tpot_ms": 30})")) ==
        "\"batch\": \"batch\" is missing; \"tpot_ms\" of kind \"concurrency\" requires the number of requests");
  CHECK(refused_figure(R"({"batch": 1, "input_note": "short", "output_len": 8})", R"({"ttft_ms": 90})") == nothing);
  CHECK(refused_figure("{}", R"({"tpot_ms": 30})") == nothing);
  CHECK(refused_figure(R"({"kind": "capacity"})", R"({"kv_gib_per_gpu": 9})") == nothing);
}

TEST_CASE("an inference time or rate that no device can reach is rejected", "[row-check]") {
  // Llama-3.1 8B in bf16 at 864 GB/s: reading 15 GB of layers takes 17 ms. 10 times faster is possible with drafts.
  CHECK(refused_figure(one, R"({"tpot_ms": 18})") == nothing);
  CHECK(refused_figure(one, R"({"tpot_ms": 2})") == nothing);
  CHECK_THAT(refused_figure(one, R"({"tpot_ms": 1})"),
             Catch::StartsWith("my.json:2, row \"i\", \"measured\", \"tpot_ms\": 1 is beyond the limit of 1 L40S "
                               "according to its datasheet, 1") &&
                 Contains("by a factor of 1") && Contains("check its unit, the batch, the lengths and the devices"));
  for (const char* beyond : {R"({"tpot_ms": 1e-9})", R"({"ttft_ms": 1e-4})", R"({"e2e_latency_ms": 1e-6})"})
    CHECK_THAT(refused_figure(one, beyond), Contains("a single kernel takes more than a microsecond"));
  // 2 x 7.5e9 FLOPs per token at the 1466e12 FLOP/s of int8 or fp8: fewer than 1e5 tokens/s.
  for (const char* beyond : {R"({"output_tok_s": 1e15})", R"({"prefill_tok_s": 1e15})", R"({"decode_tok_s": 2e6})"})
    CHECK_THAT(refused_figure(one, beyond), Contains("is beyond the limit of 1 L40S for matmuls in a second"));
  CHECK_THAT(refused_figure(one, R"({"output_tok_s": 5000})"), Contains("according to its datasheet"));
  CHECK_THAT(refused_figure(one, R"({"kv_tokens": 1e15})"), Contains("a cache of 1e+15 tokens exceeds the 48 GiB"));
  CHECK_THAT(refused_figure(one, R"({"weights_gib_per_gpu": 500})"), Contains("500 GiB exceeds the 48 GiB"));
}

TEST_CASE("high figures that an unstated batch size or queueing could explain are accepted", "[row-check]") {
  // With a batch of 500, which the row does not state, 5000 tokens/s are possible; 1e7 are impossible.
  const std::string no_batch = R"({"input_len": 512, "output_len": 128})";
  CHECK(refused_figure(no_batch, R"({"output_tok_s": 5000})") == nothing);
  CHECK_THAT(refused_figure(no_batch, R"({"output_tok_s": 1e7})"), Contains("for matmuls in a second"));
  // With 32 clients, requests wait for each other, but a time is compared with that of a single request.
  const std::string clients = R"({"kind": "concurrency", "batch": 32, "input_len": 4096, "output_len": 16})";
  CHECK(refused_figure(clients, R"({"ttft_ms": 400})") == nothing);
}

TEST_CASE("an inference row without its number of devices is rejected", "[row-check]") {
  std::string text = inference(one, R"({"tpot_ms": 18})");
  text.replace(text.find(", \"count\": 1"), 12, "");
  CHECK(refused(text, AccuracyKind::inference) ==
        "my.json:2, row \"i\", \"hardware\": \"count\" is missing; every measurement requires it");
}
