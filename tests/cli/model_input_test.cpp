// Inputs given as MODEL: formats, caveats and pipes reach the reports.

#include <sys/stat.h>

#include <thread>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A Llama of 2 layers, 64 wide, with the additional keys `more`.
std::string config(const std::string& more) {
  const std::string path = scratch() + "/config.json";
  write_file(path, R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
    "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 64)" +
                       (more.empty() ? "" : ", " + more) + "}");
  return path;
}

constexpr const char* plan = " --prompt 8 --generate 8";

json::Value memory(const std::string& path, const std::string& options) {
  return ask("memory " + path + plan + " " + options);
}

// Two layers of 4 matrices of 64 x 64 and 3 of 64 x 128; table and head of 100 x 64; five norms of 64.
constexpr Count in_matrices = 2 * (4 * 64 * 64 + 3 * 64 * 128), others = 2 * 100 * 64 + 5 * 64;

}  // namespace

TEST_CASE("a checkpoint's formats are the default of --weight-precision in inference", "[cli]") {
  const std::string awq = config(R"("quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32})");
  const json::Value r = memory(awq, "");
  // 4 bits each, plus 20 bits for every 32 elements.
  CHECK(r["inference_memory"]["weights_bytes"] == in_matrices / 2 + in_matrices / 32 * 20 / 8 + 2 * others);
  CHECK(r["inputs"]["weight_precision"] ==
        json::parse(R"({"all": "bf16", "attention": "awq-g32", "mlp": "awq-g32"})", "w"));
  CHECK(r["memory"]["weights_bytes"] == 2 * (in_matrices + others));  // training
  CHECK_THAT(r["notes"].dump(), Catch::Contains("awq-g32 (attention, mlp), bf16; training keeps them in bf16"));
  const json::Value said = memory(awq, "--weight-precision fp8");
  CHECK(said["inference_memory"]["weights_bytes"] == in_matrices + others);
  CHECK(said["inputs"]["weight_precision"] == "fp8");
  CHECK(llmcalc::test::llmcalc("train " + awq + " --hardware h100 --weight-precision awq").code == 2);
}

TEST_CASE("a config's dtype is the default of --weight-precision unless --precision is given", "[cli]") {
  const std::string wide = config(R"("torch_dtype": "float32")");
  CHECK(memory(wide, "")["inference_memory"]["weights_bytes"] == 4 * (in_matrices + others));
  CHECK(memory(wide, "--precision bf16")["inference_memory"]["weights_bytes"] == 2 * (in_matrices + others));
}

// 20,914,757,184 parameters of 2 bytes. The preset's own experts are in mxfp4.
TEST_CASE("a format in a preset's name sets the weight format unless an option is given", "[cli]") {
  const json::Value named = memory("lmsys/gpt-oss-20b-bf16", "");
  CHECK(named["inference_memory"]["weights_bytes"] == 41829514368);
  CHECK(named["inputs"]["weight_precision"] == "bf16");
  const json::Value given = memory("gpt-oss-20b-bf16", "--weight-precision fp8");
  CHECK(given["inputs"]["weight_precision"] == "fp8");
  for (const json::Value& r : {named, given})
    CHECK_THAT(r["notes"].dump(), Catch::Contains("implies weights in bf16, unless --weight-precision is set"));
  CHECK(memory("llama-3.1-8b-q4_k_m", "--infer")["inference_memory"]["weights_bytes"] ==
        memory("llama-3.1-8b", "--infer --weight-precision q4_k_m")["inference_memory"]["weights_bytes"]);
  CHECK(llmcalc::test::llmcalc("memory llama-3.1-8b-exl2 --infer").code == 2);
  CHECK(llmcalc::test::llmcalc("show gpt-oss-20b-bf16").code == 2);
}

TEST_CASE("all unknown keys of a config are reported in one note", "[cli]") {
  const std::string path = config(R"("visual": {"layers": 48}, "talker": {"layers": 9}, "temperature": 0.6)");
  const char* note = R"(\"visual\" and \"talker\" in )";
  for (const std::string command : {"params ", "memory ", "flops "})
    CHECK_THAT(ask(command + path)["notes"].dump(), Catch::Contains(note));
  CHECK_THAT(llmcalc::test::llmcalc("import " + path).err, Catch::Contains("are not understood and were not counted"));
}

TEST_CASE("a model's caveats are in every report and in the file that import writes", "[cli]") {
  const std::string path = config(R"("vision_config": {})");
  const char* note = "the vision encoder is not counted";
  for (const std::string command : {"params ", "memory ", "flops "})
    CHECK_THAT(ask(command + path)["notes"].dump(), Catch::Contains(note));
  const std::string file = scratch() + "/mine.json";
  write_file(file, llmcalc::test::llmcalc("import " + path).out);
  CHECK_THAT(ask("params " + file)["notes"].dump(), Catch::Contains(note));
}

TEST_CASE("import --verbose lists the effect of each key and writes the same file", "[cli]") {
  const std::string path = config(R"("rope_theta": 10000.0, "extra_lora_rank": 3)");
  const Ran plain = llmcalc::test::llmcalc("import " + path), told = llmcalc::test::llmcalc("import --verbose " + path);
  CHECK(told.code == 0);
  CHECK(told.out == plain.out);
  for (const char* line : {"hidden_size              64       -> attention.head_width 16, hidden 64",
                           "rope_theta               10000.0  ignored: rotary embeddings have no parameters",
                           "extra_lora_rank          3        ignored: not understood"})
    CHECK_THAT(told.err, Catch::Contains(line));
  CHECK(llmcalc::test::llmcalc("import --verbose - < " + path).code == 2);
}

TEST_CASE("a model can be read from a pipe", "[cli]") {
  const std::string path = config("");
  CHECK(ask("params - < " + path)["parameters"]["total"] == in_matrices + others);
  const std::string pipe = scratch() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { write_file(pipe, read_file(path)); });
  CHECK(ask("params " + pipe)["parameters"]["total"] == in_matrices + others);
  writer.join();
}
