#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::ask;

// Case studies of the seeds, run as `llmcalc report` and checked against their formulas. docs/seeds.md lists the
// printed values.

namespace {

const std::string seed_rules = " --seq 2048 --attention naive --dropout --softmax-store seed --norm-stats off";

Count number(const json::Value& report, const char* section, const char* key) {
  return report.at(section).at(key).get<Count>();
}

/// Activation bytes that the seeds omit: embedding mask, ids, inputs of the final norm and of the head.
constexpr Count outside(Count seq, Count hidden) { return seq * hidden + 8 * seq + 2 * 2 * seq * hidden; }

}  // namespace

TEST_CASE("GPT-3 in mixed precision on one device matches the corrected Goon (2.15)-(2.19)", "[golden][seeds]") {
  const json::Value r = ask("report docs/cases/goon-gpt-3.json --hardware a100" + seed_rules);
  constexpr Count n = 12LL * 96 * 12288 * 12288 + 50257LL * 12288;  // 174,563,733,504
  CHECK(number(r, "parameters", "total") == n);
  CHECK(number(r, "memory", "weights_bytes") == 2 * n);     // (2.17): 325.15 GiB
  CHECK(number(r, "memory", "gradients_bytes") == 4 * n);   // 650.30 GiB
  CHECK(number(r, "memory", "optimizer_bytes") == 12 * n);  // 1950.90 GiB
  // (2.18): B L S (34 D + 5 A S), without the terms outside the blocks, which the seeds omit
  constexpr Count activations = 96LL * 2048 * (34 * 12288 + 5 * 96 * 2048LL);
  CHECK(number(r, "memory", "activations_bytes") == activations + outside(2048, 12288));
  // (2.19): 0.0877 B, not .2 B
  CHECK(static_cast<double>(activations) / (18.0 * static_cast<double>(n)) == Approx(0.0877).epsilon(1e-3));
  CHECK(r["inference_memory"]["fits"] == false);
  // Ratio of the S x S terms to the others: 34 D / 5 A
  CHECK(r["activations"]["quadratic_equals_linear_seq"].get<double>() == Approx(34.0 * 12288 / (5 * 96)));
}

TEST_CASE("GPT-3 on 8 tensor-parallel devices matches the corrected Goon (2.14) and (2.20)", "[golden][seeds]") {
  const json::Value r = ask("report docs/cases/goon-gpt-3.json --hardware a100 --tp 8" + seed_rules);
  // The vocabulary is sharded too, with Megatron-LM's padding: 50,257 to 51,200 rows, a multiple of 128 x 8.
  constexpr Count n = 12LL * 96 * 12288 * 12288 / 8 + 51200LL / 8 * 12288;
  CHECK(number(r, "memory", "weights_bytes") == 2 * n);
  CHECK(number(r, "memory", "optimizer_bytes") == 12 * n);
  // 2BDLS (p (2 + (E+2)/T) + 1) + A B L S^2 (2p+1) / T = BLS (13 D + 5 A S / 8)
  constexpr Count activations = 96LL * 2048 * (13 * 12288 + 5 * 96 / 8 * 2048LL);
  CHECK(number(r, "memory", "activations_bytes") == activations + outside(2048, 12288));
}

TEST_CASE("sequence parallelism divides the activations that tensor parallelism replicates", "[golden][seeds]") {
  const json::Value r = ask("memory docs/cases/goon-gpt-3.json --train --tp 8 --sp" + seed_rules);
  constexpr Count blocks = 96LL * 2048 * (34 * 12288 + 5 * 96 * 2048LL) / 8;
  CHECK(number(r, "activations", "blocks_bytes") == blocks);
}

TEST_CASE("mixed precision saves memory for GPT-3 from batch 1.5 upward, as in Goon's (2.9)", "[golden][seeds]") {
  const json::Value r = ask("memory docs/cases/goon-gpt-3.json --train" + seed_rules);
  // 6 D^2 / (8 D S + A S^2) = 1.5 counts the blocks only. The table and the head add their states (V D) and their saved
  // bytes: the inputs of the final norm and the head, 2 x 2 bytes x S D.
  constexpr double n = 12.0 * 96 * 12288 * 12288 + 50257.0 * 12288;
  constexpr double saved = 96.0 * 2048 * (32.0 * 12288 + 4.0 * 96 * 2048) + 2 * 2.0 * 2048 * 12288;
  CHECK(r["activations"]["mixed_precision_break_even_batch"].get<double>() == Approx(2 * n / saved).epsilon(1e-12));
  CHECK(2 * 12.0 * 96 * 12288 * 12288 / (96.0 * 2048 * (32.0 * 12288 + 4.0 * 96 * 2048)) == Approx(1.5));
}

TEST_CASE("Goon's Falcon-40B has 3.75 GiB of cache per sequence, is memory-bound and needs 11 devices",
          "[golden][seeds]") {
  const std::string plan = " --hardware a100 --prompt 1792 --generate 256";
  const json::Value r = ask("infer docs/cases/goon-falcon-40b.json" + plan + " --software none --batch 200 --tp 4");
  CHECK(number(r, "kv_cache", "bytes_per_sequence") == 2LL * 2 * 8192 * 60 * 2048 / 4);  // (8.1) rounds this to 4 GiB
  CHECK(r["decode"]["bound"] == "memory");                                               // the seed claims compute
  CHECK_FALSE(r["decode"].contains("compute_bound_batch"));                              // never compute-bound
  CHECK(r["inference_memory"]["fits"] == false);
  // T = 4 holds (4 x 80 GiB - 12 L D^2 weights of 90 GiB - table) / 3.75 GiB = 61 sequences, fewer with a workspace
  constexpr Count weights = 2 * (12LL * 60 * 8192 * 8192 + 65024LL * 8192);
  constexpr Count sequence = 2LL * 2 * 8192 * 60 * 2048;
  constexpr Count room = 4LL * 80 * (1LL << 30) - weights;
  CHECK(room / sequence == 61);
  const Count workspace = number(ask("infer docs/cases/goon-falcon-40b.json" + plan + " --software none --tp 4"),
                                 "inference_memory", "workspace_bytes");
  CHECK(number(r, "limits", "max_batch") == room / (sequence + 4 * workspace));
}

TEST_CASE("the real Falcon-40B has 8 KV heads, and its checkpoint stores the tied LM head a second time",
          "[golden][seeds]") {
  const json::Value r = ask("report falcon-40b --hardware a100 --tp 4 --prompt 1792");
  CHECK(number(r, "parameters", "total") == 41303293952);
  CHECK(number(r, "parameters", "with_stored_head") == 41835970560);
  CHECK(number(r, "kv_cache", "bytes_per_sequence") * 4 == 2LL * 2 * 8 * 64 * 60 * 2048);  // 0.234 GiB, not 4
}

TEST_CASE("Llama-3 405B has Jia's 405.8 B parameters, and 405,853,388,800 with the published vocabulary",
          "[golden][seeds]") {
  const json::Value jia = ask("params docs/cases/jia-llama-3-405b.json");
  CHECK(number(jia, "parameters", "total") == 405845000192);
  CHECK(number(jia, "parameters", "embedding") == 2097152000);
  CHECK(number(jia, "parameters", "attention") == 2 * 33822867456LL + 2 * 2113929216LL);
  CHECK(number(jia, "parameters", "mlp") == 329772957696);
  CHECK(number(jia, "parameters", "norm") == 253LL * 16384);
  CHECK(number(ask("params llama-3.1-405b"), "parameters", "total") == 405853388800);
}

TEST_CASE("the devices of Goon's table C.1 are presets with decimal rates", "[golden][seeds]") {
  const auto device = [](const char* name) { return ask(std::string("infer gpt2 --hardware ") + name)["hardware"]; };
  CHECK(device("a100-40gb")["peak_flops"]["bf16"] == 312e12);
  CHECK(device("a100-40gb")["memory_bytes_per_s"] == 1555e9);  // printed as 1.6 TiB/s
  CHECK(device("a100")["memory_bytes_per_s"] == 2039e9);       // 2.0 TiB/s
  CHECK(device("a100")["link"]["bytes_per_s"] == 300e9);       // one way
  CHECK(device("v100")["peak_flops"]["fp16"] == 125e12);       // the printed 130 is the V100S
}
