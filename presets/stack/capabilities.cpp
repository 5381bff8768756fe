#include "presets/stack/capabilities.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calc/layout.hpp"
#include "calc/training/optimizer.hpp"
#include "text/error.hpp"
#include "text/json_schema.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

template <typename E>
std::vector<std::string> names_of() {
  std::vector<std::string> all;
  for (const auto& row : choices<E>) all.emplace_back(row.name);
  return all;
}

struct Prose {
  std::string_view word, text;
};
constexpr std::array parallelism_text{Prose{"tp", "tensor parallelism"},   Prose{"sp", "sequence parallelism"},
                                      Prose{"cp", "context parallelism"},  Prose{"dcp", "decode context parallelism"},
                                      Prose{"ep", "expert parallelism"},   Prose{"etp", "expert-tensor parallelism"},
                                      Prose{"pp", "pipeline parallelism"}, Prose{"dp", "data parallelism"},
                                      Prose{"hsdp", "hybrid sharding"}};
constexpr std::array device_text{
    Prose{"nvidia", "NVIDIA GPUs"}, Prose{"amd", "AMD GPUs"},  Prose{"intel", "Intel GPUs"},
    Prose{"gaudi", "Gaudi"},        Prose{"neuron", "Neuron"}, Prose{"tpu", "TPUs"},
    Prose{"apple", "Apple chips"},  Prose{"ascend", "Ascend"}, Prose{"cpu", "CPUs"}};
constexpr std::array adapter_text{Prose{"lora", "LoRA"}, Prose{"qlora", "LoRA on quantized weights"}};
constexpr std::array draft_text{Prose{"model", "draft models"}, Prose{"mtp", "MTP drafts"}};
constexpr std::array serving_text{Prose{"prefix-cache", "a prefix cache"},
                                  Prose{"pools", "separate prefill and decode engines"},
                                  Prose{"adapters", "LoRA adapters"}, Prose{"swap", "swapping of caches to the host"}};

template <std::size_t n>
std::vector<std::string> words_of(const std::array<Prose, n>& all) {
  std::vector<std::string> words;
  for (const Prose& p : all) words.emplace_back(p.word);
  return words;
}
template <std::size_t n>
std::string text_of(const std::array<Prose, n>& all, std::string_view word) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Prose& p) { return p.word == word; });
  return std::string(found == all.end() ? word : found->text);
}

}  // namespace

std::vector<std::string> capability_words(Capability c) {
  switch (c) {
    case Capability::devices:
      return words_of(device_text);
    case Capability::parallelism:
      return words_of(parallelism_text);
    case Capability::schedules:
      return names_of<Schedule>();
    case Capability::zero:
    case Capability::zero_in_pipeline:
      return {"1", "2", "3"};
    case Capability::context:
      return names_of<ContextMethod>();
    case Capability::offload:
      return {"activations", "optimizer", "weights", "experts", "kv"};
    case Capability::optimizers:
      return names_of<Optimizer>();
    case Capability::adapters:
      return words_of(adapter_text);
    case Capability::drafts:
      return words_of(draft_text);
    case Capability::serving:
      return words_of(serving_text);
  }
  return {};
}

std::string capability_text(Capability c, std::string_view word) {
  switch (c) {
    case Capability::devices:
      return text_of(device_text, word);
    case Capability::parallelism:
      return text_of(parallelism_text, word);
    case Capability::zero:
      return fmt::format("ZeRO {}", word);
    case Capability::zero_in_pipeline:
      return fmt::format("ZeRO {} in a pipeline", word);
    case Capability::context:
      return fmt::format("{} context parallelism", word);
    case Capability::offload:
      return fmt::format("offload of {}", word == "optimizer" ? "optimizer states" : word);
    case Capability::adapters:
      return text_of(adapter_text, word);
    case Capability::drafts:
      return text_of(draft_text, word);
    case Capability::serving:
      return text_of(serving_text, word);
    case Capability::schedules:
    case Capability::optimizers:
      return std::string(word);
  }
  return "";
}

bool Capabilities::has(Capability c, std::string_view word) const {
  const Words& words = of(c);
  return !words || std::find(words->begin(), words->end(), word) != words->end();
}

Capabilities read_capabilities(const json::Object& o) {
  Capabilities all;
  for (const auto& [c, key] : choices<Capability>) {
    const std::vector<std::string> known = capability_words(c);
    o.expects(key, [&] { return json::words_among(known); });
    if (!o.has(key)) continue;
    std::vector<std::string> words = o.texts(key);
    for (const std::string& w : words)
      if (std::find(known.begin(), known.end(), w) == known.end())
        throw InputError(
            fmt::format("{}, \"{}\": unknown word {}{}", o.where(), key, in_quotes(w), suggestion(w, known)));
    all.of(c) = std::move(words);
  }
  o.refuse_unread();
  return all;
}

}  // namespace llmcalc
