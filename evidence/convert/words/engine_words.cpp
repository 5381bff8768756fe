#include "evidence/convert/words/engine_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>

#include "evidence/names/words.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

struct EngineWord {
  const char* word;
  const char* name;
};

// The first name that matches as a whole word wins.
constexpr EngineWord engine_words[] = {
    {"triton + fastertransformer", "fastertransformer"},
    {"torchao", "torchao"},
    {"gpt-fast", "gpt-fast"},
    {"transformers-neuronx", "transformers-neuronx"},
    {"neuronx", "transformers-neuronx"},
    {"neuron", "transformers-neuronx"},
    {"optimum-habana", "optimum-habana"},
    {"habana", "optimum-habana"},
    {"dynamo-trt", "tensorrt-llm"},
    {"dynamo-trtllm", "tensorrt-llm"},
    {"dynamo-sglang", "sglang"},
    {"dynamo-vllm", "vllm"},
    {"nim", "tensorrt-llm"},
    {"tensorrt-llm", "tensorrt-llm"},
    {"tensorrt llm", "tensorrt-llm"},
    {"trt-llm", "tensorrt-llm"},
    {"trtllm", "tensorrt-llm"},
    {"vllm-ascend", "vllm"},
    {"vllm-gaudi", "vllm"},
    {"vllm-hpu", "vllm"},
    {"vllm-rocm", "vllm"},
    {"vllm", "vllm"},
    {"sglang", "sglang"},
    {"lmdeploy", "lmdeploy"},
    {"turbomind", "lmdeploy"},
    {"qserve", "qserve"},
    {"fastertransformer", "fastertransformer"},
    {"deepspeed-mii", "deepspeed"},
    {"deepspeed-fastgen", "deepspeed"},
    {"deepspeed-inference", "deepspeed"},
    {"deepspeed", "deepspeed"},
    {"llama.cpp", "llama.cpp"},
    {"llama-cpp", "llama.cpp"},
    {"llamacpp", "llama.cpp"},
    {"llama-cpp-python", "llama.cpp"},
    {"ik-llama.cpp", "llama.cpp"},
    {"llamafile", "llama.cpp"},
    {"koboldcpp", "llama.cpp"},
    {"lm studio", "llama.cpp"},
    {"ollama", "llama.cpp"},
    {"exllamav2", "exllamav2"},
    {"exllama-v2", "exllamav2"},
    {"exllama v2", "exllamav2"},
    {"exllama-v3", nullptr},  // a separate engine, which is not supported
    {"exllama v3", nullptr},
    {"exllama", "exllama"},
    {"autoawq", "autoawq"},
    {"tinychat", "tinychat"},
    {"mlc-llm", "mlc-llm"},
    {"mlc", "mlc-llm"},
    {"mlx-lm", "mlx-lm"},
    {"mlx", "mlx-lm"},
    {"calm", "calm"},
    {"jax", "jax"},
    {"jetstream", "jax"},
    {"maxtext", "jax"},
    {"text generation inference", "tgi"},
    {"text-generation-inference", "tgi"},
    {"tgi", "tgi"},
    {"transformers", "transformers"},
    {"pytorch", "pytorch"},
    {"atom", "atom"},
};

bool in_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Whether a name ends before `rest`, which must begin with a version or with a character that cannot continue a
/// name. "vllm-0.6" is vllm, but "exllamav3" is not exllama.
bool ends_name(const std::string& rest) {
  static const std::regex end("^(?:$|[^a-z0-9-]|-?v?[0-9]+\\.|-v?[0-9]+(?:[^a-z0-9]|$)|-(?:[^a-z0-9]|$))");
  return std::regex_search(rest, end);
}

/// Position of the whole name in the text, or npos.
std::size_t place_of(const std::string& text, const std::string& name) {
  std::size_t at = text.find(name);
  while (at != std::string::npos) {
    const bool begins = at == 0 || (!in_a_word(text[at - 1]) && text[at - 1] != '-');
    if (begins && ends_name(text.substr(at + name.size()))) break;
    at = text.find(name, at + 1);
  }
  return at;
}

std::string version_in(const std::string& text) {
  static const std::regex pattern("(?:^|[ v=-])([0-9]+\\.[0-9][0-9a-z.]*)");
  std::smatch found;
  return std::regex_search(text, found, pattern) ? found[1].str() : "";
}

/// "2024-05" for "May 2024", the form in which stacks without version numbers are dated. Empty if there is no date.
std::string month_in(const std::string& text) {
  constexpr std::string_view months = "janfebmaraprmayjunjulaugsepoctnovdec";
  static const std::regex pattern("(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* (20[0-9]{2})");
  std::smatch found;
  if (!std::regex_search(text, found, pattern)) return "";
  return fmt::format("{}-{:02}", found[2].str(), months.find(found[1].str()) / 3 + 1);
}

}  // namespace

bool is_behind_dynamo(const std::string& said) { return lower(said).starts_with("dynamo"); }

std::string version_said(const std::string& text, const std::string& date) {
  static const std::regex pattern("^(?:about |v)?([0-9]+\\.[0-9][0-9a-z.]*|b[0-9]+$)"),
      day("^20[0-9]{2}-[0-9]{2}(?:-[0-9]{2})?$");
  std::smatch found;
  if (std::regex_search(text, found, pattern)) return found[1].str();
  return std::regex_match(date, day) ? date : "";
}

EngineName engine_name(const std::string& said, const std::string& notes) {
  const Words about(said + "; " + notes);
  std::string text = lower(said.substr(0, 200));
  std::replace(text.begin(), text.end(), '_', '-');
  EngineName e{said.empty() ? "not stated" : said, "", false, false};
  for (const EngineWord& w : engine_words)
    if (const std::size_t at = place_of(text, w.word); at != std::string::npos) {
      if (w.name == nullptr) break;
      // A version must follow its engine's name: "vLLM (PyTorch 2.1)" has no version.
      e = {w.name, version_in(text.substr(at, text.find_first_of("(/", at) - at)), true, false};
      if (is_behind_dynamo(text)) e.version = "";
      if (e.version.empty()) e.version = month_in(text.substr(at));
      break;
    }
  e.eager = about.affirms_any({"enforce eager", "eager mode", "disable cuda graph"}) || about.denies("cuda graph") ||
            about.denies("cuda graphs");
  return e;
}

std::string unknown_engine(const std::string& said) {
  return said.empty() ? "the engine is not stated" : in_quotes(said) + " is unknown";
}

std::optional<Count> said_option(const std::string& notes, std::string name) {
  std::replace(name.begin(), name.end(), '_', '.');  // matches any separator: "max_num_seqs", "max-num-seqs"
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
