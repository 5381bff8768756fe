// Checkpoints as MODEL, formats by component, and matmul formats.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/presets/checkpoint_writer.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const LlamaSizes tiny{.d = 256, .layers = 2, .vocabulary = 512, .heads = 4, .kv = 2, .head_dim = 64, .ff = 512};

std::vector<WrittenTensor> tensors() {
  return gguf_llama(tiny, [](const std::string& name, Count) { return name == "attn_v" ? "Q6_K" : "Q4_K"; });
}

/// A Llama of 2 layers with this quantization block.
std::string quantized_config(const std::string& block, const std::string& hidden = "256") {
  const std::string path = scratch() + "/quantized-" + hidden + ".json";
  write_file(path, R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 512, "max_position_embeddings": 4096,
    "hidden_size": )" + hidden +
                       R"(, "quantization_config": )" + block + "}");
  return path;
}

// Two layers of q, o (256 x 256), k, v (128 x 256) and three matrices of 512 x 256; table and head; five norms.
constexpr Count attention = 2 * (2 * 256 * 256 + 2 * 128 * 256), mlp = 2 * 3 * 512 * 256, table = 512 * 256,
                norms = 5 * 256;

}  // namespace

TEST_CASE("a GGUF file can be given as MODEL, and its tensors determine the weight bytes", "[cli][checkpoint]") {
  const CheckpointFolder folder;
  const std::string path = write_gguf(folder, "m.gguf", llama_keys(tiny), tensors());
  constexpr Count v = 2 * 128 * 256, matrices = attention - v + mlp + 2 * table;
  const json::Value r = ask("infer " + path + " --hardware h100 --prompt 8 --generate 8");
  CHECK(r["inference_memory"]["weights_bytes"] == matrices / 256 * 144 + v / 256 * 210 + 4 * norms);
  CHECK(r["inputs"]["weight_precision"] == json::Value{{"all", "q4_k"}, {"norm", "fp32"}});
  CHECK(r["inputs"]["precision"] == "bf16");
  CHECK(ask("params " + path)["parameters"]["total"] == attention + mlp + 2 * table + norms);
}

TEST_CASE("'show' lists a checkpoint's tensors by group, and unknown tensors by name", "[cli][checkpoint]") {
  const CheckpointFolder folder;
  std::vector<WrittenTensor> all = tensors();
  all.push_back({"strange\x1b[2J", "F32", {7}});
  const json::Value r = ask("show " + write_gguf(folder, "m.gguf", llama_keys(tiny), all));
  CHECK(r["groups"][0] ==
        json::Value{
            {"group", "mlp"}, {"tensors", 6}, {"bytes", mlp / 256 * 144}, {"formats", {{"Q4_K", mlp / 256 * 144}}}});
  CHECK(r["not_recognised"][0]["shape"] == json::Value{7});
  CHECK(r["not_recognised"][0]["bytes"] == 28);
  CHECK(r["inputs"]["keys"]["llama.block_count"] == 2);
  const Ran text = test::llmcalc("show " + folder.file("m.gguf"));
  CHECK(text.code == 0);
  CHECK(text.out.find('\x1b') == std::string::npos);
}

TEST_CASE("a damaged checkpoint is rejected with a one-sentence error and exit code 2", "[cli][checkpoint]") {
  const CheckpointFolder folder;
  const std::string path = folder.write("m.gguf", "GGUF\3");
  for (const char* command : {"params ", "show ", "infer --hardware h100 "}) {
    const Ran r = test::llmcalc(command + path);
    CHECK(r.code == 2);
    CHECK(r.err == "llmcalc: '" + path +
                       "': the header extends past the end of the file at 5 bytes; the file is truncated or damaged\n");
  }
}

TEST_CASE("--weight-precision accepts a mix of formats or one format per component", "[cli][checkpoint]") {
  const std::string config = quantized_config("null");
  const auto bytes = [&](const std::string& given) {
    return ask("memory " + config + " --infer --prompt 8 --generate 8 --weight-precision " +
               given)["inference_memory"]["weights_bytes"];
  };
  CHECK(bytes("mlp=q8_0") == mlp / 32 * 34 + 2 * (attention + 2 * table + norms));
  CHECK(bytes("q8_0,embedding=bf16,norm=fp32") == (attention + mlp + table) / 32 * 34 + 2 * table + 4 * norms);
  CHECK(bytes("gguf:q8_0") == (attention + mlp + 2 * table) / 32 * 34 + 4 * norms);
  const json::Value r = ask("memory " + config + " --infer --prompt 8 --generate 8 --weight-precision q4_k_m,mlp=bf16");
  CHECK(r["inputs"]["weight_precision"] == "q4_k_m,mlp=bf16");
  CHECK_THAT(test::llmcalc("memory gpt-2-124m --infer --weight-precision mpl=bf16").err,
             Catch::Contains("lm_head before '=', got \"mpl\""));
  CHECK_THAT(test::llmcalc("memory gpt-2-124m --infer --weight-precision bf16,fp8").err,
             Catch::Contains("one format for all components"));
}

TEST_CASE("a component in --weight-precision must exist in the model and be named only once", "[cli][checkpoint]") {
  const auto weights = [](const std::string& given) {
    return ask("memory gpt-oss-20b --infer --prompt 8 --generate 8 --weight-precision " +
               given)["inference_memory"]["weights_bytes"];
  };
  CHECK(weights("head=fp8,norms=fp32") == weights("lm_head=fp8,norm=fp32"));
  const auto refusal = [](const std::string& options) { return test::llmcalc("memory " + options).err; };
  CHECK(refusal("gpt-oss-20b --infer --weight-precision experts=mxfp4,experts=bf16") ==
        "llmcalc: --weight-precision: experts is specified twice; specify it once\n");
  CHECK(refusal("gpt-oss-20b --infer --weight-precision head=mxfp4,lm_head=bf16") ==
        "llmcalc: --weight-precision: lm_head is specified twice; specify it once\n");
  CHECK(refusal("gpt-oss-20b --infer --weight-precision mlp=nvfp4") ==
        "llmcalc: --weight-precision: the model has no weights in mlp; omit it\n");
  CHECK(refusal("gpt-2-124m --infer --weight-precision head=fp8") ==
        "llmcalc: --weight-precision: the model has no weights in lm_head, because its head is tied to the embedding; "
        "omit it\n");
}

TEST_CASE("a checkpoint with quantized inputs runs matmuls in its format if the hardware supports it",
          "[cli][checkpoint]") {
  const auto precision = [](const std::string& block, const std::string& options) {
    return ask("infer " + quantized_config(block) + " --prompt 8 --generate 8 --hardware " +
               options)["inputs"]["precision"];
  };
  const std::string fp8 = R"({"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]})";
  CHECK(precision(fp8, "h100") == "fp8-block");
  CHECK(precision(fp8, "a100-80gb") == "bf16");  // no fp8 peak
  CHECK(precision(fp8, "h100 --precision bf16") == "bf16");
  const std::string int8 = R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["Linear"],
    "weights": {"num_bits": 8, "type": "int", "strategy": "channel"}, "input_activations": {"num_bits": 8}}}})";
  CHECK(precision(int8, "a100-80gb") == "int8");
}

TEST_CASE("weight-only formats run matmuls in 16 bits, with a note", "[cli][checkpoint]") {
  const std::string awq = quantized_config(R"({"quant_method": "awq", "bits": 4, "group_size": 128})");
  const json::Value r = ask("infer " + awq + " --prompt 2048 --generate 8 --hardware h100");
  CHECK(r["inputs"]["precision"] == "bf16");
  const auto notes = r["notes"].get<std::vector<std::string>>();
  CHECK(std::find(notes.begin(), notes.end(), "weights in awq are dequantized and multiplied in bf16") != notes.end());
}

TEST_CASE("the note on a checkpoint's matmul format matches the format that infer uses", "[cli][checkpoint]") {
  const auto notes = [](const std::string& command) { return ask(command)["notes"].dump(); };
  const std::string fp8 =
      quantized_config(R"({"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]})");
  CHECK_THAT(notes("memory " + fp8 + " --infer --prompt 8 --generate 8"), !Catch::Contains("dequantized"));
  CHECK_THAT(notes("memory " + fp8 + " --infer --prompt 8 --generate 8 --precision bf16"),
             Catch::Contains("weights in fp8-block are dequantized and multiplied in bf16"));
  // Inputs are quantized for attention, not for the MLP.
  const std::string mixed = quantized_config(
      R"({"quant_method": "compressed-tensors", "config_groups": {"a": {"targets": ["re:.*mlp.*"], "weights":
      {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}}, "b": {"targets":
      ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}, "input_activations":
      {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": true}}}})",
      "4096");
  const std::string asked = "infer " + mixed + " --prompt 2048 --generate 8 --hardware h100";
  const json::Value r = ask(asked);
  CHECK(r["inputs"]["precision"] == "fp8");
  CHECK_THAT(r["notes"].dump(), Catch::Contains("in inference only matmuls of attention are low-precision; weights in "
                                                "nvfp4 are dequantized and multiplied in bf16"));
  // A prompt takes longer than with all matmuls in fp8, and less than with all matmuls in bf16.
  const auto seconds = [](const json::Value& v) { return v["prefill"]["time_s"].get<double>(); };
  CHECK(seconds(ask(asked + " --precision fp8")) < seconds(r));
  CHECK(seconds(r) < seconds(ask(asked + " --precision bf16")));
  CHECK_THAT(notes("memory " + mixed + " --infer --prompt 8 --generate 8"),
             Catch::Contains("\"weights in nvfp4 are dequantized and multiplied in bf16\""));
}
