// 'llmcalc serve': models in pipelines, with offload, with adapters and in shared memory.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::refused;

namespace {

const std::string load = " --rate 0.2 --num-requests 60";

json::Value served(const std::string& words) { return test::ask("serve " + words + load); }

double bytes(const json::Value& r, const char* key) { return r["engine_memory"][key].get<double>(); }

}  // namespace

TEST_CASE("a pipeline splits the model and needs more time per token than one GPU that holds the model",
          "[serve][cli]") {
  const json::Value one = served("llama-3.1-8b --hardware h100"), two = served("llama-3.1-8b --hardware h100 --pp 2");
  CHECK(two["layout"]["gpus"] == 2);
  CHECK(two["layout"]["pp"] == 2);
  CHECK(bytes(two, "weights_bytes") == Approx(bytes(one, "weights_bytes") / 2).epsilon(1e-3));
  CHECK(bytes(two, "kv_tokens") > 2 * bytes(one, "kv_tokens"));
  CHECK(two["serving"]["tpot_s"]["mean"] > one["serving"]["tpot_s"]["mean"]);
  CHECK(two["serving"]["capacity_req_s"] > one["serving"]["capacity_req_s"]);
  refused("serve llama-3.1-8b --hardware h100 --pp 33 --rate 1",
          "--pp 33 exceeds the 32 layers of llama-3.1-8b; set at most 32");
}

TEST_CASE("memory for states, not sequence length, limits the sequences of a purely recurrent model", "[serve][cli]") {
  const json::Value r = test::ask("serve falcon-mamba-7b --hardware h100 --rate 1 --num-requests 100");
  CHECK(r["serving"]["requests"] == 100);
  CHECK(r["engine_memory"]["states"] > 100);
  CHECK(r["engine_memory"]["most_sequences"] <= r["engine_memory"]["states"]);
  CHECK_FALSE(r["engine_memory"].contains("longest_sequence"));
  const json::Value longer =
      test::ask("serve falcon-mamba-7b --hardware h100 --rate 1 --num-requests 100 --generate 1000");
  CHECK(longer["engine_memory"]["most_sequences"] == r["engine_memory"]["most_sequences"]);
}

TEST_CASE("the cache section reports the number of sequences and the longest sequence", "[serve][cli]") {
  const json::Value plain = served("llama-3.1-8b --hardware h100")["engine_memory"];
  CHECK(plain["longest_sequence"] == plain["kv_tokens"]);
  CHECK(plain["most_sequences"] == plain["kv_tokens"].get<Count>() / (2048 + 256));
  const json::Value windows = served("gemma-3-27b --hardware h100 --prompt 30000")["engine_memory"];
  CHECK(windows["longest_sequence"] > 2 * windows["kv_tokens"].get<Count>());
  CHECK(windows["most_sequences"] > windows["kv_tokens"].get<Count>() / (30000 + 256));
}

TEST_CASE("the default prompt leaves room for the answer in the context", "[serve][cli]") {
  const json::Value r = test::ask("serve pythia-6.9b --hardware h200 --rate 0.5 --num-requests 50");
  CHECK(r["inputs"]["prompt"] == 2048 - 256);
  const json::Value turns = test::ask("serve pythia-6.9b --hardware h200 --rate 0.5 --num-requests 50 --turns 4");
  CHECK(turns["inputs"]["prompt"] == 2048 / 4 - 256);
  refused("serve pythia-6.9b --hardware h200 --rate 0.5 --prompt 2048",
          "--prompt 2048 and --generate 256 together exceed the context of pythia-6.9b, 2048 tokens; shorten them");
}

TEST_CASE("offloaded experts use host memory and cross the link in every pass", "[serve][offload][cli]") {
  const std::string mixtral = "mixtral-8x7b --hardware h200";
  const json::Value plain = served(mixtral), away = served(mixtral + " --offload experts:0.5");
  CHECK(bytes(away, "weights_bytes") + bytes(away, "host_bytes") == bytes(plain, "weights_bytes"));
  CHECK(away["serving"]["tpot_s"]["mean"] > plain["serving"]["tpot_s"]["mean"]);
  const auto loaded = [&](const std::string& link) -> double {
    return served(mixtral + " --software vllm --offload weights:0.5" + link)["serving"]["tpot_s"]["mean"];
  };
  CHECK(loaded(" --offload-bandwidth 7GB/s") > loaded(""));
  CHECK(bytes(served("llama-3.1-8b --hardware h100 --offload kv:0.5"), "kv_tokens") ==
        Approx(2 * bytes(served("llama-3.1-8b --hardware h100"), "kv_tokens")).epsilon(1e-3));
}

TEST_CASE("invalid uses of offload in serving are rejected", "[offload][cli]") {
  refused("infer llama-3.1-8b --hardware h100 --offload experts",
          "--offload experts: llama-3.1-8b has no experts; use weights");
  refused("infer llama-3.1-8b --hardware h100 --offload optimizer",
          "--offload activations and optimizer apply to training; for inference use weights, experts and kv");
  refused("train llama-3.1-8b --hardware h100 --offload kv:0.5",
          "--offload experts and kv apply to inference; for training use weights, optimizer and activations");
  refused("infer llama-3.1-8b --hardware h100 --offload kv",
          "--offload kv leaves no cache on the device for the tokens of a pass; set a fraction, for example kv:0.9");
  refused("infer llama-3.1-8b --hardware h100 --offload weights --roofline step",
          "--offload cannot be combined with --roofline step, because transfer times are added operator by operator; "
          "use --roofline op");
}

TEST_CASE("adapters add to the memory and the pass times of a server", "[serve][adapters][cli]") {
  const json::Value plain = served("llama-3.1-8b --hardware h100");
  const json::Value adapted = served("llama-3.1-8b --hardware h100 --adapters 8:16");
  CHECK(adapted["inputs"]["adapters"] == "8:16");
  CHECK(bytes(adapted, "adapters_bytes") == 8.0 * 32 * 16 * 81920 * 2);
  CHECK(bytes(plain, "kv_cache_bytes") - bytes(adapted, "kv_cache_bytes") == bytes(adapted, "adapters_bytes"));
  CHECK(adapted["serving"]["tpot_s"]["mean"] > plain["serving"]["tpot_s"]["mean"]);
  refused("serve llama-3.1-8b --hardware h100 --rate 1 --adapters 8",
          "--adapters: expected the number of resident adapters and their rank, for example 8:16, or with matrices, "
          "8:16:q,v, got \"8\"");
  refused("serve llama-3.1-8b --hardware h100 --rate 1 --adapters 8:9000",
          "--adapters rank 9000 exceeds the hidden size of llama-3.1-8b, 4096; use a lower rank");
}

TEST_CASE("on a system with shared memory, a program's full share is used by default", "[serve][cli]") {
  const auto fits = [](const std::string& hw) {
    return test::ask("infer llama-3.1-8b --prompt 1k --hardware " + hw)["limits"]["max_batch"].get<Count>();
  };
  CHECK(fits("m4-max --memory-utilization 1") == fits("m4-max"));
  CHECK(fits("m4-max --memory-utilization 0.75") < fits("m4-max"));
}
