#include "evidence/engine_name.hpp"

#include <algorithm>
#include <cstdlib>
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
  EngineName e{said.empty() ? "not stated" : said, "", false, false};
  for (const EngineWord& w : engine_words)
    if (const std::size_t at = text.find(w.word); at != std::string::npos) {
      // A version stands behind its engine's name: "vLLM (PyTorch 2.1)" has none.
      e = {w.name, version_in(text.substr(at, text.find_first_of("(/", at) - at)), true, false};
      break;
    }
  e.eager = about.find("enforce_eager=true") != std::string::npos;
  return e;
}

std::string unknown_engine(const std::string& said) {
  return said.empty() ? "no engine is named" : in_quotes(said) + " is not known";
}

std::optional<Count> minor_version(const std::string& version) {
  if (version.empty()) return std::nullopt;
  return version.starts_with("0.") ? std::atoi(version.c_str() + 2) : 1000;
}

std::optional<Count> said_option(const std::string& notes, std::string name) {
  std::replace(name.begin(), name.end(), '_', '.');  // any sign: "max_num_seqs", "max-num-seqs"
  const std::regex pattern(name + "[ =:]+([0-9][0-9,]{0,12})");
  std::smatch found;
  const std::string about = lower(notes);
  if (!std::regex_search(about, found, pattern)) return std::nullopt;
  std::string digits = found[1];
  std::erase(digits, ',');
  const Count n = std::atoll(digits.c_str());
  return n > 0 ? std::optional(n) : std::nullopt;
}

}  // namespace llmcalc
