// Command-line options --precision below 16 bits, --narrow and --wide-layers.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::ask;

namespace {
double number_of(const json::Value& v) { return v.get<double>(); }
}  // namespace

TEST_CASE("matmuls that --wide-layers or --narrow exclude run at the 16-bit rate", "[contract][cli]") {
  const std::string plan = "train llama-3.1-8b --hardware b200 --ops --precision nvfp4 ";
  const auto seconds = [](const json::Value& r, const std::string& segment, const std::string& name) {
    for (const json::Value& row : r["ops"])
      if (row["name"] == name && row["segment"] == segment) return number_of(row["time_s"]);
    return 0.0;
  };
  const json::Value some = ask(plan + "--narrow mlp --wide-layers first:2,last:4");
  CHECK(some["inputs"]["narrow"] == "mlp");
  CHECK(some["inputs"]["wide_layers"] == "first:2,last:4");
  // A B200's fp4 peak is at most 4 times its bf16 peak.
  const double ratio = seconds(some, "wide block", "mlp.up") / seconds(some, "block", "mlp.up");
  CHECK(ratio > 3);
  CHECK(ratio < 4.000001);
  CHECK(seconds(some, "wide block", "attn.q") == seconds(some, "block", "attn.q"));
  const json::Value narrow = ask(plan), wide = ask("train llama-3.1-8b --hardware b200 --precision bf16");
  const auto step = [](const json::Value& r) { return number_of(r["step"]["time_s"]); };
  CHECK(step(narrow) < step(some));
  CHECK(step(some) < step(wide));
  CHECK(narrow["memory"] == wide["memory"]);
  CHECK(some["notes"].dump().find("in training, blocks first:2,last:4 run their matmuls in bf16") != std::string::npos);
}

TEST_CASE("under a scaled format, training memory equals bf16's, and served blocks have the format's bytes",
          "[contract][cli]") {
  for (const auto& [format, bits] : {std::pair{"mxfp8", 8.25}, {"mxfp4", 4.25}}) {
    const std::string plan = "report llama-3.1-8b --hardware b200 ";
    const json::Value wide = ask(plan), narrow = ask(plan + "--precision " + format);
    CHECK(narrow["memory"] == wide["memory"]);
    CHECK(narrow["flops"] == wide["flops"]);
    CHECK(narrow["kv_cache"]["bytes_total"] == wide["kv_cache"]["bytes_total"]);
    const json::Value& n = wide["parameters"];  // all widths are multiples of 32
    const double blocks = number_of(n["attention"]) + number_of(n["mlp"]);
    CHECK(number_of(narrow["inference_memory"]["weights_bytes"]) ==
          blocks * bits / 8 + 2 * (number_of(n["embedding"]) + number_of(n["lm_head"]) + number_of(n["norm"])));
  }
}

TEST_CASE("explain writes out the bytes of a matmul's quantized operands", "[explain][cli]") {
  const std::string e = test::llmcalc("explain mlp.up llama-3.1-8b --hardware b200 --precision nvfp4 --seq 8000").out;
  CHECK(e.find("= 9*8000*4096/16 + 2*4 + 9*14,336*4096/16") != std::string::npos);
  CHECK(e.find("51,462,152") != std::string::npos);  // 9 (8000 + 14336) 256 + 8
  CHECK(test::llmcalc("explain mlp.up llama-3.1-8b --hardware b200").out.find("operands") == std::string::npos);
}

TEST_CASE("the error for a mistake in low-precision options is one sentence", "[cli]") {
  const std::string train = "train llama-3-8b --hardware h100 ";
  const auto refused = [](const std::string& arguments, const std::string& sentence) {
    const test::Ran r = test::llmcalc(arguments);
    INFO("llmcalc " << arguments);
    CHECK(r.err == "llmcalc: " + sentence + "\n");
    CHECK(r.code == 2);
    CHECK(r.out.empty());
  };
  refused(train + "--precision q4_k",
          "--precision: expected a compute format (bf16, fp8, fp8-block, mxfp8, nvfp4), got \"q4_k\"; "
          "--weight-precision and --kv-precision accept it");
  refused(train + "--precision nvfp4",
          "h100-sxm-80gb has no nvfp4 matmul peak; set --precision to one of: fp64, fp32, tf32, fp16, bf16, fp8, "
          "fp8-block, fp8-row, fp8-row32, int8, int8-row, mxfp8");
  for (const char* format : {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp8-block", "fp8-row", "fp8-row32", "int8",
                             "int8-row", "mxfp8"})
    CHECK(test::llmcalc(train + "--precision " + format).code == 0);
  refused("train llama-3-8b --hardware mi355x --precision fp64 --wide-layers first:1",
          "--wide-layers applies only to matmuls below 16 bits, but all matmuls are in fp64; set --precision to fp8, "
          "fp8-block, mxfp8, mxfp4 or nvfp4, or omit --wide-layers");
  refused(train + "--wide-layers first:1",
          "--wide-layers has no effect without --precision; add --precision, or omit --wide-layers");
  const std::string fp8 = train + "--precision fp8 ";
  refused(fp8 + "--wide-layers 2", "--wide-layers: expected first:N, last:M, or both separated by ',', got \"2\"");
  refused(fp8 + "--wide-layers last:0",
          "--wide-layers: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  refused(fp8 + "--wide-layers first:1,first:2", "--wide-layers: first is specified twice; omit one");
  refused(fp8 + "--wide-layers first:20,last:12",
          "--wide-layers first:20,last:12: llama-3-8b has 32 blocks, which leaves no matmuls for --precision fp8; "
          "lower it");
  refused(fp8 + "--narrow experts", "--narrow experts: llama-3-8b has no matmuls of this kind; omit it");
  refused(fp8 + "--narrow core", "--narrow: expected attention, mlp or experts, got \"core\"");
}
