#include "evidence/engine_name.hpp"

#include <regex>

#include "text/names.hpp"

namespace llmcalc {

namespace {

struct EngineWord {
  const char* word;
  const char* name;
  EngineClass kind;
};

// The first word that occurs.
constexpr EngineWord engine_words[] = {
    {"triton + fastertransformer", "fastertransformer", EngineClass::compiled},
    {"torchao", "torchao", EngineClass::compiled},
    {"gpt-fast", "gpt-fast", EngineClass::compiled},
    {"neuronx", "transformers-neuronx", EngineClass::graphs},
    {"neuron", "transformers-neuronx", EngineClass::graphs},
    {"habana", "optimum-habana", EngineClass::graphs},
    {"nim", "tensorrt-llm", EngineClass::graphs},
    {"tensorrt-llm", "tensorrt-llm", EngineClass::graphs},
    {"trt-llm", "tensorrt-llm", EngineClass::graphs},
    {"vllm", "vllm", EngineClass::graphs},
    {"sglang", "sglang", EngineClass::graphs},
    {"lmdeploy", "lmdeploy", EngineClass::graphs},
    {"qserve", "qserve", EngineClass::compiled},
    {"fastertransformer", "fastertransformer", EngineClass::compiled},
    {"deepspeed", "deepspeed", EngineClass::compiled},
    {"llama.cpp", "llama.cpp", EngineClass::kernels},
    {"ollama", "llama.cpp", EngineClass::kernels},
    {"exllamav2", "exllamav2", EngineClass::compiled},
    {"exllama", "exllama", EngineClass::compiled},
    {"autoawq", "autoawq", EngineClass::compiled},
    {"tinychat", "tinychat", EngineClass::compiled},
    {"mlc", "mlc-llm", EngineClass::compiled},
    {"mlx", "mlx-lm", EngineClass::kernels},
    {"calm", "calm", EngineClass::persistent},
    {"jax", "jax", EngineClass::graphs},
    {"jetstream", "jax", EngineClass::graphs},
    {"text generation inference", "tgi", EngineClass::graphs},
    {"tgi", "tgi", EngineClass::graphs},
    {"transformers", "transformers", EngineClass::kernels},
    {"pytorch", "pytorch", EngineClass::kernels},
};

std::string version_in(const std::string& text) {
  static const std::regex pattern("(?:^|[ v])([0-9]+\\.[0-9][0-9a-z.]*)");
  std::smatch found;
  return std::regex_search(text, found, pattern) ? found[1].str() : "";
}

}  // namespace

EngineName engine_name(const std::string& said, const std::string& notes) {
  const std::string text = lower(said.substr(0, 200)), about = lower(notes);
  EngineName e{said, "", EngineClass::graphs, false, false};
  for (const EngineWord& w : engine_words)
    if (const std::size_t at = text.find(w.word); at != std::string::npos) {
      // A version stands behind its engine's name: "vLLM (PyTorch 2.1)" has none.
      e = {w.name, version_in(text.substr(at, text.find_first_of("(/", at) - at)), w.kind, true, false};
      break;
    }
  e.eager = about.find("enforce_eager=true") != std::string::npos;
  return e;
}

}  // namespace llmcalc
