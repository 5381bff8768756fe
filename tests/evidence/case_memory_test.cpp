// Memory of engines in rows and logs: versions, limits, and the remaining cache.

#include "evidence/case_memory.hpp"

#include "evidence/convert/inference/inference_conversion.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr double gib = 0x1p30;

InferenceCase case_of(const InferenceRow& row) { return inference_case(row, devices_once()); }
InferenceRow llama_on_two() { return row_called(inference_rows(), "llmd-vllm-mem-llama-3.3-70b-tp2"); }

const HardwareCard& card(const char* name) { return *devices_once().find(name); }
double libraries(std::optional<Count> version, Count ranks, const char* device) {
  return static_cast<double>(engine_terms({version, ranks, card(device)}).libraries.value) / gib;
}

std::string refused(const std::string& table) {
  return sentence([&] { read_engine_memory_table(json::parse(table, "t"), "t"); });
}

}  // namespace

TEST_CASE("the first matching line of the table determines an engine version's memory rules", "[engine-memory]") {
  CHECK(engine_terms({16, 1, card("h100")}).logit_bytes == 38.3);
  CHECK(engine_terms({17, 1, card("h100")}).logit_bytes == 14.8);
  CHECK(engine_terms({std::nullopt, 1, card("h100")}).logit_bytes == 14.8);
  CHECK(libraries(6, 1, "h100") == Approx(1.79));
  CHECK(libraries(6, 2, "h100") == Approx(3.58));
  CHECK(libraries(11, 2, "h100") == Approx(0.55));
  CHECK(libraries(19, 2, "h100") == Approx(2));
  CHECK(libraries(19, 2, "rtx-pro-6000") == Approx(0.55));
  CHECK(libraries(19, 1, "rtx-pro-6000") == Approx(0.19));
}

TEST_CASE("vLLM's default limits depend on its version and the device", "[engine-memory]") {
  const auto limits = [](std::optional<Count> version, const char* device, Count longest) {
    return usual_limits({version, 1, card(device)}, longest);
  };
  CHECK(limits(19, "h100", 0) == EngineLimits{.pass_tokens = 8192, .sequences = 1024});
  CHECK(limits(19, "a100-sxm-80gb", 0) == EngineLimits{.pass_tokens = 2048, .sequences = 256});
  CHECK(limits(19, "rtx-4090", 0) == EngineLimits{.pass_tokens = 2048, .sequences = 256});
  CHECK(limits(6, "h100", 8192) == EngineLimits{.pass_tokens = 8192, .sequences = 256});
  CHECK(limits(6, "h100", 131072) == EngineLimits{.pass_tokens = 2048, .sequences = 256});
}

TEST_CASE("stated limits, version and memory determine the size of the cache", "[engine-memory]") {
  InferenceRow row = llama_on_two();
  row.batch.max_num_batched_tokens = 4096;
  row.batch.max_num_seqs = 128;
  const InferenceCase c = case_of(row);
  CHECK(c.limits == EngineLimits{.pass_tokens = 4096, .sequences = 128});
  CHECK(c.assumed.size() == 1);  // the form factor
  const EngineMemory m = engine_memory(c);
  CHECK(static_cast<double>(m.granted.value) == Approx(0.9 * 79.18 * gib));
  // c S V + 2 T h against 2 T (3 f/t + 4 h): 0.65 GiB and 0.58 GiB
  CHECK(m.activations == Bytes(std::llround(38.3 * 128 * 128256) + 2 * 4096 * 8192));
  CHECK(m.kv_cache == m.granted - m.weights - m.activations - m.libraries);
  CHECK(cache_tokens(c) == static_cast<double>(m.kv_cache.value / (16 * 163840) * 16));  // 2 x 80 x 4 x 128 x 2 bytes
}

TEST_CASE("engine limits are read from notes, and unstated limits are reported as assumptions", "[engine-memory]") {
  InferenceRow row = llama_on_two();
  CHECK(case_of(row).assumed.size() == 3);
  row.notes = "started with max_num_batched_tokens=4,096 and --max-num-seqs 64";
  CHECK(case_of(row).limits == EngineLimits{.pass_tokens = 4096, .sequences = 64});
  CHECK(case_of(row).assumed.size() == 1);
}

TEST_CASE("the cache in published vLLM startup logs with default settings is predicted within 3 %", "[engine-memory]") {
  for (const char* id : {"vllm-mem-10511-llama3-8b-tp1", "llmd-vllm-mem-llama-3.3-70b-tp2", "vllm-mem-pr2031-llama2-7b",
                         "vllm-mem-13061-r1distill14b-2x4090"}) {
    const InferenceCase c = case_of(row_called(inference_rows(), id));
    const Figure* f = &c.figures[0];
    for (const Figure& other : c.figures)
      if (other.quantity == FigureKind::cache_tokens ||
          (other.quantity == FigureKind::cache_memory && f->quantity != FigureKind::cache_tokens))
        f = &other;
    INFO(id << " " << f->key);
    CHECK(*predicted_memory(c, *f) == Approx(f->value).epsilon(0.03));
  }
}

TEST_CASE("an engine memory table with invalid entries is rejected", "[engine-memory]") {
  const std::string visible = R"("name": "x", "visible": {"share": 0.99, "source": "s"})";
  CHECK(refused("{" + visible + "}") == "t, \"logit_bytes\": expected a list of objects");
  CHECK(refused("{" + visible + R"(, "logit_bytes": [{"value": -1, "source": "s"}]})") ==
        "t, \"logit_bytes\"[0], \"value\": expected a number above 0");
  CHECK(refused(R"({"name": "x", "visible": {"share": 0, "source": "s"}})") ==
        "t, \"visible\", \"share\": expected a number above 0");
}

TEST_CASE("mxfp4 experts are padded to the sizes of their kernels", "[engine-memory]") {
  const InferenceCase c = case_of(row_called(inference_rows(), "llmd-vllm-mem-gpt-oss-120b-tp1"));
  // 128 experts of 3 x 2880 x 2880 in 36 layers, 4.25 bits each, plus biases
  const double experts = 128.0 * 36 * 3 * 2880 * 2880 * 4.25 / 8;
  const auto padding = [&](std::optional<Count> version, const char* device) {
    return static_cast<double>(expert_padding({version, 1, card(device)}, c.arch, c.plan, c.layout).value);
  };
  CHECK(padding(11, "h100") == Approx(experts * (2944.0 * 3072 / (2880.0 * 2880) - 1)).epsilon(2e-3));
  CHECK(padding(std::nullopt, "h100") == 0);
  CHECK(padding(std::nullopt, "b200") == Approx(experts * (3072.0 * 3072 / (2880.0 * 2880) - 1)).epsilon(2e-3));
  CHECK(padding(std::nullopt, "rtx-5090") == padding(11, "h100"));
  CHECK(expert_padding({11, 1, card("h100")}, c.arch, {}, c.layout) == Bytes());  // in 16 bits
}
