// Versions, parents and capabilities of software files.

#include "presets/load.hpp"
#include "presets/stack/version.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using llmcalc::test::sentence;

namespace {

/// Three versions: the first sets a, the second changes it and adds an object, the third removes one of that object's
/// keys.
json::Value file() {
  return json::parse(R"({"a": 0, "versions": [
    {"version": "0.2", "released": "2023-09-28", "a": 1},
    {"version": "0.9", "released": "2025-05-15", "a": 2, "o": {"x": 1, "y": 2}},
    {"version": "0.10", "released": "2025-07-24", "o": {"x": null}}]})",
                     "test");
}
SoftwareAtVersion at(const char* version) { return at_version(file(), version, "mine"); }

}  // namespace

TEST_CASE("a software version selects the newest entry that is not newer than itself", "[software]") {
  CHECK(at("0.2").value == json::parse(R"({"a": 1})", "test"));
  CHECK(at("0.8.5").version.name == "0.2");
  CHECK(at("0.9").value == json::parse(R"({"a": 2, "o": {"x": 1, "y": 2}})", "test"));
  CHECK(at("0.10.1").value == json::parse(R"({"a": 2, "o": {"y": 2}})", "test"));
  CHECK(at("v0.10.0").version.name == "0.10");
  CHECK(at_version(file(), std::nullopt, "mine").version.name == "0.10");
  CHECK(at("0.10").versions.size() == 3);
}

TEST_CASE("a date selects the newest software version released by then", "[software]") {
  CHECK(at("2023-09").version.name == "0.2");
  CHECK(at("2025-05-14").version.name == "0.2");
  CHECK(at("2025-05").version.name == "0.9");
  CHECK(at("2023").version.name == "0.2");
  CHECK(at("2026-01-01").version.name == "0.10");
}

TEST_CASE("the error for a version that does not exist names the first existing one", "[software]") {
  CHECK(sentence([] { at("0.1"); }) == "mine: version 0.1 is older than the first known version, 0.2");
  CHECK(sentence([] { at("2023-08"); }) ==
        "mine: version 2023-08 is older than the first known version, 0.2, of 2023-09-28");
  CHECK(sentence([] { at("2022"); }).find("is older than the first known version") != std::string::npos);
  CHECK(sentence([] { at("new"); }).find("neither a version number nor a date") != std::string::npos);
  CHECK(sentence([] { at_version(json::parse("{}", "test"), "1", "mine"); }) == "mine has no versions; omit @1");
  json::Value wrong = file();
  std::swap(wrong["versions"][0], wrong["versions"][1]);
  CHECK(sentence([&] { at_version(wrong, std::nullopt, "mine"); }).find("must be newer than 0.9") != std::string::npos);
}

TEST_CASE("software versions are compared number by number", "[software]") {
  CHECK(is_older("0.9", "0.10"));
  CHECK_FALSE(is_older("0.10.0", "0.10"));
  CHECK(is_older("b4500", "b6000"));
  CHECK(is_older("24.07", "26.08"));
}

TEST_CASE("vLLM before 0.8 uses the V0 engine", "[software]") {
  const SoftwareCard old = load_software("vllm@0.6.3"), now = load_software("vllm");
  CHECK((old.inference->loop == ServingLoop::vllm_legacy && old.inference->prompts_first));
  CHECK((now.inference->loop == ServingLoop::vllm && !now.inference->prompts_first));
  CHECK(old.word == "vllm@0.6");
  CHECK(*load_software("vllm@0.19").server->utilization == 0.9);
  CHECK(*load_software("vllm@0.20").server->utilization == 0.92);
}

TEST_CASE("a software stack inherits its parent's keys and adds its own capabilities", "[software]") {
  const SoftwareCard parent = load_software("megatron-lm"), zb = load_software("zero-bubble");
  CHECK(zb.training->fusion == parent.training->fusion);
  CHECK(zb.vocabulary_multiple == 128);
  CHECK(zb.capabilities.has(Capability::schedules, "zb-v"));
  CHECK_FALSE(parent.capabilities.has(Capability::schedules, "zb-v"));
  CHECK(zb.capabilities.of(Capability::context) == parent.capabilities.of(Capability::context));
}

TEST_CASE("an absent list of capabilities allows everything, and an empty list allows nothing", "[software]") {
  const auto read = [](const char* text) {
    const json::Value value = json::parse(text, "test");
    return read_capabilities(json::Object(value, "mine"));
  };
  const Capabilities all = read(R"({"schedules": [], "zero": ["1"]})");
  CHECK(all.has(Capability::devices, "tpu"));
  CHECK_FALSE(all.has(Capability::schedules, "1f1b"));
  CHECK((all.has(Capability::zero, "1") && !all.has(Capability::zero, "2")));
  CHECK(sentence([&] { read(R"({"zero": ["4"]})"); }).find("\"zero\": unknown word \"4\"") != std::string::npos);
}

// On an H100 of 81,920 MiB: SGLang 0.4 uses a fixed share per number of ranks, 0.5.1 reserves 9.5 + 0.5 tp GiB, and
// 0.5.3 uses the formula in engine_law.hpp.
TEST_CASE("SGLang's static memory fraction depends on its version", "[software]") {
  const auto share = [](const char* version, Count ranks) {
    const SoftwareCard card = load_software(std::string("sglang@") + version);
    return default_utilization(*card.server, Bytes(Count{80} << 30), ranks, 1);
  };
  CHECK(share("0.4.1", 1) == 0.88);
  CHECK(share("0.4.1", 4) == 0.85);
  CHECK(share("0.4.1", 16) == 0.79);
  CHECK(share("0.5.1", 1) == 0.875);
  CHECK(share("0.5.1", 8) == 0.831);
  CHECK(share("0.5.3", 1) == share("0.5.18", 1));
  CHECK(share("0.5.3", 1) == 0.836);
}

TEST_CASE("a stack has a capability from the version that introduced it", "[software]") {
  const auto has = [](const char* stack, Capability c, const char* word) {
    return load_software(stack).capabilities.has(c, word);
  };
  CHECK_FALSE(has("sglang@0.4.5", Capability::parallelism, "pp"));
  CHECK(has("sglang@0.4.6", Capability::parallelism, "pp"));
  CHECK_FALSE(has("megatron-lm@0.9", Capability::context, "ulysses"));
  CHECK(has("megatron-lm@0.10.1", Capability::context, "ulysses"));
  CHECK_FALSE(has("megatron-lm@2025-12", Capability::optimizers, "muon"));
  CHECK(has("megatron-lm@2026-03", Capability::optimizers, "muon"));
  CHECK_FALSE(has("nemo@24.09", Capability::offload, "optimizer"));
  CHECK(has("nemo@25.04", Capability::offload, "optimizer"));
  CHECK_FALSE(has("llama.cpp@b6000", Capability::offload, "experts"));
  CHECK(has("llama.cpp@b6100", Capability::offload, "experts"));
  CHECK(load_software("tensorrt-llm@0.20").inference->loop == ServingLoop::tensorrt_legacy);
  CHECK(load_software("tensorrt-llm@1.1").inference->loop == ServingLoop::tensorrt);
}

// Until build 9460, the graph of a prompt has logits of all its 512 tokens: 512 x 128,256 x 4 bytes.
TEST_CASE("older llama.cpp builds reserve memory for the logits of every token of a pass", "[software]") {
  CHECK(load_software("llama.cpp@b9000").server->logit_bytes_per_token == 4);
  CHECK(load_software("llama.cpp@b9000").server->logit_bytes_per_sequence == 0);
  CHECK(load_software("llama.cpp").server->logit_bytes_per_token == 0);
  CHECK(load_software("llama.cpp").server->logit_bytes_per_sequence == 4);
}

// SGLang on an H100: 81,920 MiB; reserved 512 + 1.5 x 8192 + 2 x 256 + 1024 / 8 = 13,440 MiB; 1 - 13440 / 81920 =
// 0.836.
TEST_CASE("SGLang's static memory fraction depends on memory, chunk size and ranks", "[software]") {
  const json::Value file = json::parse(R"({"memory": "static share", "by_memory": [
    {"below_gib": 35, "pass_tokens": 2048, "graph_batch": 24, "graph_batch_tp4": 80},
    {"pass_tokens": 8192, "graph_batch": 256, "graph_batch_tp4": 512}]})",
                                       "test");
  const EngineLaw law = read_engine_law(json::Object(file, "mine"));
  CHECK(default_utilization(law, Bytes(80LL << 30), 1, 1) == Approx(0.836));
  // 512 + 1.5 x 8192 + 2 x 512 + 1024 = 14,848 MiB
  CHECK(default_utilization(law, Bytes(80LL << 30), 8, 1) == Approx(0.819));
  // 24,564 MiB: 512 + 1.5 x 2048 + 2 x 24 + 128 = 3,760 MiB
  CHECK(default_utilization(law, Bytes(24564LL << 20), 1, 1) == Approx(0.847));
}
