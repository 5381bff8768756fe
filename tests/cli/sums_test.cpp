// Numbers within a report are consistent, and several commands give the same numbers.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::ask;

namespace {

double real(const json::Value& v) { return v.get<double>(); }
Approx about(double v) { return Approx(v).epsilon(1e-12); }

/// Sum of the named parts that are present.
double sum(const json::Value& section, std::initializer_list<const char*> parts) {
  double all = 0;
  for (const char* part : parts)
    if (section.contains(part)) all += real(section[part]);
  return all;
}

/// Sum over the rows of an operator table, weighted by the number of layers.
double over_rows(const json::Value& rows, const char* key) {
  double all = 0;
  for (const json::Value& row : rows)
    if (row.contains(key)) all += real(row["layers"]) * real(row[key]);
  return all;
}

const char* const trained[] = {
    "llama-3.1-8b --hardware h100 --seq 2048",
    "llama-3.1-8b --hardware h100 --seq 2048 --micro-batch 2 --global-batch 32 --gpus 64 --tp 4 --sp",
    "gpt-3-175b --hardware a100 --gpus 1024 --tp 8 --global-batch 1536 --recompute full",
    "gpt2 --hardware h100 --attention naive --dropout --recompute selective --master none --optimizer sgd",
    "mixtral-8x7b --hardware h200 --tp 2 --efficiency 0.5 --overlap 0.2",
    "deepseek-v2-lite --hardware h100 --roofline step --optimizer adafactor",
    "gemma-3-27b --hardware mi300x --seq 4096 --recompute full --logits chunked:4",
    "llama-3.1-8b --hardware gh200 --seq 2048 --zero 2 --offload optimizer:0.5,weights",
};

}  // namespace

TEST_CASE("a step's tokens, time and throughput are consistent", "[contract][cli]") {
  for (const std::string plan : trained) {
    CAPTURE(plan);
    const json::Value r = ask("train " + plan + " --tokens 1T --price 2 --watts 700 --co2 0.4");
    const json::Value &step = r["step"], &in = r["inputs"], &run = r["run"];
    CHECK(real(step["tokens"]) == real(in["global_batch"]) * real(in["seq"]));
    CHECK(real(step["tokens_per_s"]) == about(real(step["tokens"]) / real(step["time_s"])));
    CHECK(real(step["tokens_per_s_per_gpu"]) == about(real(step["tokens_per_s"]) / real(in["gpus"])));
    CHECK(real(step["time_s"]) ==
          about(sum(step["breakdown_s"], {"matmul", "attention", "elementwise", "host", "tp", "cp", "ep", "dp", "pp",
                                          "imbalance", "bubble", "optimizer", "offload"})));
    CHECK(real(run["days"]) == about(1e12 / real(step["tokens_per_s"]) / 86400));
    CHECK(real(run["gpu_hours"]) == about(24 * real(run["days"]) * real(in["gpus"])));
    CHECK(real(run["cost_usd"]) == about(2 * real(run["gpu_hours"])));
    CHECK(real(run["energy_kwh"]) == about(0.7 * real(in["pue"]) * real(run["gpu_hours"])));
    CHECK(real(run["co2_kg"]) == about(0.4 * real(run["energy_kwh"])));
  }
}

TEST_CASE("memory, FLOPs and caches are the sums of their parts", "[contract][cli]") {
  for (const std::string plan : trained) {
    CAPTURE(plan);
    const json::Value r = ask("report " + plan);
    const json::Value &m = r["memory"], &i = r["inference_memory"], &f = r["flops"], &cache = r["kv_cache"];
    CHECK(real(m["total_bytes"]) == sum(m, {"weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes",
                                            "logits_bytes", "transit_bytes", "workspace_bytes", "process_bytes"}));
    CHECK(real(i["total_bytes"]) ==
          sum(i, {"weights_bytes", "towers_bytes", "kv_cache_bytes", "workspace_bytes", "process_bytes"}));
    CHECK(m["fits"].get<bool>() == (real(m["peak_bytes"]) <= real(m["capacity_bytes"])));
    const json::Value& most = i.contains("granted_bytes") ? i["granted_bytes"] : i["capacity_bytes"];
    CHECK(i["fits"].get<bool>() == (real(i["peak_bytes"]) <= real(most)));
    CHECK(real(f["forward"]) == sum(f, {"forward_linear", "forward_attention", "forward_head"}));
    CHECK(real(f["model_total"]) == about(sum(f, {"forward", "backward"})));
    CHECK(real(f["hardware_total"]) == about(sum(f, {"model_total", "recompute"})));
    if (plan.starts_with("gemma"))  // a filling window also caches the tokens of the pass
      CHECK(real(cache["bytes_total"]) < real(i["kv_cache_bytes"]));
    else
      CHECK(cache["bytes_total"] == i["kv_cache_bytes"]);
    CHECK(real(cache["bytes_total"]) == real(r["inputs"]["batch"]) * real(cache["bytes_per_sequence"]));
    CHECK(r["end_to_end"]["ttft_s"] == r["prefill"]["time_s"]);
  }
}

TEST_CASE("a quantity has the same value in every command", "[contract][cli]") {
  for (const std::string plan : trained) {
    CAPTURE(plan);
    const json::Value all = ask("report " + plan), train = ask("train " + plan);
    CHECK(all["step"] == train["step"]);
    CHECK(all["memory"] == train["memory"]);
    for (const auto& [key, value] : train["flops"].items()) CHECK(all["flops"][key] == value);
  }
  const std::string plan = "llama-3.1-70b --hardware h100 --tp 8 --batch 100 --prompt 4096";
  const json::Value all = ask("report " + plan), infer = ask("infer " + plan), memory = ask("memory " + plan);
  for (const char* section : {"inference_memory", "kv_cache", "prefill", "decode", "end_to_end", "limits"})
    CHECK(all[section] == infer[section]);
  CHECK(memory["inference_memory"] == infer["inference_memory"]);
  CHECK_FALSE(infer.contains("memory"));
  CHECK_FALSE(ask("memory gpt2 --infer").contains("memory"));
}

TEST_CASE("a report's inference section equals infer's answer, whatever the training ranks", "[contract][cli]") {
  const auto equal = [](const std::string& plan, const std::string& training) {
    CAPTURE(plan, training);
    const json::Value all = ask("report " + plan + training), infer = ask("infer " + plan);
    for (const auto& [section, rows] : infer.items()) {
      if (!rows.is_object() || section == "inputs" || section == "conventions" || section == "verdict") continue;
      CAPTURE(section);
      for (const auto& [key, value] : rows.items()) {
        CAPTURE(key);
        CHECK(all[section][key] == value);
      }
    }
    const json::Value memory = ask("memory " + plan + training);
    for (const char* section : {"inference_memory", "kv_cache"}) CHECK(memory[section] == infer[section]);
  };
  const std::string small = "llama-3.1-8b --hardware h100 --batch 4 ", large = "llama-3.1-70b --hardware h100 --tp 8 ";
  for (const char* training : {"--dp 8", "--dp 16 --fsdp", "--dp 8 --zero 1"}) equal(small, training);
  equal(large, "--dp 8 --fsdp --hsdp 8");
  equal("mixtral-8x7b --hardware h100 --tp 2 --sp ", "--dp 4");
  // 3.99 USD per GPU-hour / (128.678 tokens/s x 3600 s) x 1e6 = 8.613 USD. Eight GPUs would cost 68.9.
  const json::Value r = ask("report llama-3.1-8b --hardware h100 --dp 8")["end_to_end"];
  CHECK(real(r["usd_per_1m_tokens"]) == about(3.99 / 3600 * 1e6 / real(r["tokens_per_s"])));
  CHECK(ask("explain end_to_end.usd_per_1m_tokens llama-3.1-8b --hardware h100 --dp 8")["quantities"][0]["value"] ==
        r["usd_per_1m_tokens"]);
}

TEST_CASE("the rows of --ops add up to the totals in the report", "[contract][cli]") {
  for (const std::string plan : trained) {
    CAPTURE(plan);
    const json::Value r = ask("train " + plan + " --ops");
    CHECK(over_rows(r["ops"], "kept_bytes") == real(r["memory"]["activations_bytes"]));
    if (r["inputs"]["tp"] == 1) {
      CHECK(over_rows(r["ops"], "forward_model_flops") == about(real(r["flops"]["forward"])));
      CHECK(over_rows(r["ops"], "forward_flops") + over_rows(r["ops"], "backward_flops") +
                over_rows(r["ops"], "recomputed_flops") ==
            about(real(r["flops"]["executed"])));
    }
    if (r["inputs"]["roofline"] != "op") continue;
    const double replicas = real(r["inputs"]["gpus"]) / real(r["inputs"]["tp"]);
    const double micro_batches = real(r["inputs"]["global_batch"]) / real(r["inputs"]["micro_batch"]) / replicas;
    const json::Value& parts = r["step"]["breakdown_s"];
    const double layers = sum(parts, {"matmul", "attention", "elementwise", "host", "tp"});
    // Gradient reductions of tensor-parallel ranks run once per step, outside any micro-batch. Host waiting is not
    // attributed to an operator, nor is the part of a collective that --overlap cannot hide because it exceeds its
    // layer's work.
    const double waiting = r["inputs"].contains("software") ? real(parts["host"]) : 0;
    CHECK(micro_batches * over_rows(r["ops"], "time_s") <= layers * (1 + 1e-12));
    CHECK(micro_batches * over_rows(r["ops"], "time_s") >=
          (layers - waiting) * (r["inputs"]["sp"] == true || r["inputs"].contains("overlap") ? 0.999 : 1 - 1e-9));
  }
  const json::Value r = ask("infer llama-3.1-8b --hardware h100 --ops");
  CHECK(over_rows(r["prefill_ops"], "time_s") == about(real(r["prefill"]["time_s"])));
  CHECK(over_rows(r["decode_ops"], "time_s") == about(real(r["decode"]["time_per_token_s"])));
}

TEST_CASE("first-token times of a lone request, the mean request and the whole batch are reported", "[contract][cli]") {
  const json::Value r = ask("infer llama-3.1-70b --hardware h100 --tp 8 --batch 100 --prompt 4096")["end_to_end"];
  const double alone = real(ask("infer llama-3.1-70b --hardware h100 --tp 8 --prompt 4096")["end_to_end"]["ttft_s"]);
  CHECK(real(r["ttft_alone_s"]) == about(alone));
  CHECK(real(r["ttft_mean_s"]) == about(101 * alone / 2));
  CHECK(real(r["ttft_s"]) > 50 * alone);
}

TEST_CASE("a master copy is mentioned only if there is one", "[contract][cli]") {
  CHECK(test::llmcalc("memory gpt2 --train --full").out.find("including float32 master copy") != std::string::npos);
  for (const char* plan : {"--optimizer sgd --master none", "--precision fp32"})
    CHECK(test::llmcalc("memory gpt2 --train --full " + std::string(plan)).out.find("no master copy") !=
          std::string::npos);
}

TEST_CASE("if MFU exceeds 100 %, the report also shows the causal-exact MFU", "[contract][cli]") {
  const std::string plan = "train llama-3.1-8b --hardware h100 --seq 131072 --efficiency 1";
  const json::Value full = ask(plan)["step"];
  CHECK(real(full["mfu"]) > 1);
  CHECK(full["mfu_causal_exact"] == ask(plan + " --attention-flops causal-exact")["step"]["mfu"]);
  CHECK(real(full["mfu_causal_exact"]) < 1);
  CHECK_FALSE(ask("train llama-3.1-8b --hardware h100 --seq 2048")["step"].contains("mfu_causal_exact"));
}

TEST_CASE("the sequence length at which attention FLOPs equal all others accounts for windows", "[contract][cli]") {
  const auto half = [](const std::string& model, const std::string& seq) {
    return ask("flops " + model + " --seq " + seq)["flops"];
  };
  // All 32 layers of Mistral 7B v0.1 attend to at most 4096 tokens.
  CHECK_FALSE(half("mistral-7b-v0.1", "8192").contains("attention_equals_rest_seq"));
  const Count from = half("gemma-3-27b", "8192")["attention_equals_rest_seq"].get<Count>();
  const auto share = [&](Count seq) {
    const json::Value f = half("gemma-3-27b", std::to_string(seq));
    return real(f["forward_attention"]) / (real(f["forward_linear"]) + real(f["forward_head"]));
  };
  CHECK(share(from) >= 1);
  CHECK(share(from - 1) < 1);
}

TEST_CASE("under the step roofline every kind of attention reads exactly its cache", "[contract][cli]") {
  constexpr double h100 = 3.35e12;  // bytes/s
  for (const std::string model : {"llama-3.1-8b", "falcon-7b", "deepseek-v2-lite", "deepseek-v2-lite --mla expanded"}) {
    CAPTURE(model);
    const json::Value r = ask("infer " + model + " --hardware h100 --roofline step --prompt 1000 --generate 201");
    const double more =
        real(r["decode"]["last_time_per_token_s"]) - real(r["decode"]["first_time_per_token_s"]);  // 200 tokens
    CHECK(more * h100 == Approx(200 * real(r["kv_cache"]["bytes_per_token"])).epsilon(1e-9));
  }
}

TEST_CASE("--precision fp8 runs the blocks' matmuls in fp8 and all others in bf16", "[contract][cli]") {
  const std::string plan = "report llama-3.1-8b --hardware h100 --efficiency 1 --ops ";
  const json::Value wide = ask(plan), fp8 = ask(plan + "--precision fp8");
  CHECK(fp8["memory"] == wide["memory"]);  // with a recipe, weights and activations stay in 16 bits
  CHECK(fp8["kv_cache"]["bytes_total"] == wide["kv_cache"]["bytes_total"]);
  CHECK(fp8["flops"] == wide["flops"]);
  // In inference the blocks' matrices have one byte per element; the embedding table, head and norms have two.
  const json::Value& n = wide["parameters"];
  CHECK(real(fp8["inference_memory"]["weights_bytes"]) ==
        real(n["attention"]) + real(n["mlp"]) + 2 * (real(n["embedding"]) + real(n["lm_head"]) + real(n["norm"])));
  const auto seconds = [](const json::Value& r, const std::string& name) {
    for (const json::Value& row : r["ops"])
      if (row["name"] == name) return real(row["time_s"]);
    return 0.0;
  };
  CHECK(seconds(fp8, "mlp.up") < 0.51 * seconds(wide, "mlp.up"));
  for (const char* name : {"head.logits", "attn.core", "mlp.act"}) {
    CAPTURE(name);
    CHECK(seconds(wide, name) > 0);
    CHECK(seconds(fp8, name) == seconds(wide, name));
  }
  CHECK(fp8["notes"].dump().find("embedding and head are in bf16") != std::string::npos);
}
