#include "evidence/engine_name.hpp"

#include <regex>

#include "text/names.hpp"

namespace llmcalc {

namespace {

struct EngineWord {
  const char* word;
  const char* name;
};

// The first word that occurs.
constexpr EngineWord engine_words[] = {
    {"triton + fastertransformer", "fastertransformer"},
    {"torchao", "torchao"},
    {"gpt-fast", "gpt-fast"},
    {"neuronx", "transformers-neuronx"},
    {"neuron", "transformers-neuronx"},
    {"habana", "optimum-habana"},
    {"nim", "tensorrt-llm"},
    {"tensorrt-llm", "tensorrt-llm"},
    {"trt-llm", "tensorrt-llm"},
    {"vllm", "vllm"},
    {"sglang", "sglang"},
    {"lmdeploy", "lmdeploy"},
    {"qserve", "qserve"},
    {"fastertransformer", "fastertransformer"},
    {"deepspeed", "deepspeed"},
    {"llama.cpp", "llama.cpp"},
    {"ollama", "llama.cpp"},
    {"exllamav2", "exllamav2"},
    {"exllama", "exllama"},
    {"autoawq", "autoawq"},
    {"tinychat", "tinychat"},
    {"mlc", "mlc-llm"},
    {"mlx", "mlx-lm"},
    {"calm", "calm"},
    {"jax", "jax"},
    {"jetstream", "jax"},
    {"text generation inference", "tgi"},
    {"tgi", "tgi"},
    {"transformers", "transformers"},
    {"pytorch", "pytorch"},
};

std::string version_in(const std::string& text) {
  static const std::regex pattern("(?:^|[ v])([0-9]+\\.[0-9][0-9a-z.]*)");
  std::smatch found;
  return std::regex_search(text, found, pattern) ? found[1].str() : "";
}

}  // namespace

EngineName engine_name(const std::string& said, const std::string& notes) {
  const std::string text = lower(said.substr(0, 200)), about = lower(notes);
  EngineName e{said, "", false, false};
  for (const EngineWord& w : engine_words)
    if (const std::size_t at = text.find(w.word); at != std::string::npos) {
      // A version stands behind its engine's name: "vLLM (PyTorch 2.1)" has none.
      e = {w.name, version_in(text.substr(at, text.find_first_of("(/", at) - at)), true, false};
      break;
    }
  e.eager = about.find("enforce_eager=true") != std::string::npos;
  return e;
}

}  // namespace llmcalc
