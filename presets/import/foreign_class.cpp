#include "presets/import/foreign_class.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "text/names.hpp"

namespace llmcalc::import {

namespace {

/// Lower-case words that occur in class names of draft models.
constexpr std::array draft_words = {
    std::string_view{"eagle"},  std::string_view{"draft"}, std::string_view{"dflash"},    std::string_view{"dspark"},
    std::string_view{"medusa"}, std::string_view{"mtp"},   std::string_view{"assistant"}, std::string_view{"nextn"}};

/// Whether `name` is the class name of a draft model. Eagle 2 and 2.5 are vision-language models (hub
/// nvidia/Eagle2.5-8B).
bool names_draft(const std::string& name) {
  const std::string word = lower(name);
  return !word.starts_with("eagle2") &&
         std::any_of(draft_words.begin(), draft_words.end(),
                     [&](std::string_view draft) { return word.find(draft) != std::string::npos; });
}

/// Families whose class names differ from their model_type: hub moonshotai/Kimi-K2-Instruct, xai-org/grok-2,
/// nvidia/Llama-3_3-Nemotron-Super-49B-v1, Alibaba-NLP/gte-large-en-v1.5; early configs of Falcon, Code Llama, GPT-SW3,
/// Yi and GLM-4.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> other_names = {{{"kimi_k2", "deepseekv3"},
                                                                                        {"git", "grok1"},
                                                                                        {"nemotron-nas", "decilm"},
                                                                                        {"gte", "new"},
                                                                                        {"falcon", "rw"},
                                                                                        {"RefinedWeb", "rw"},
                                                                                        {"RefinedWebModel", "rw"},
                                                                                        {"RefinedWebModel", "falcon"},
                                                                                        {"code_llama", "llama"},
                                                                                        {"gpt-sw3", "gpt2"},
                                                                                        {"Yi", "llama"},
                                                                                        {"glm4", "chatglm"}}};

/// The letters and digits of `name` in lower case, which makes "mimo_v2" equal to "MiMoV2".
std::string plain(std::string_view name) {
  std::string out = lower(name);
  std::erase_if(out, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return out;
}

/// Whether two names have the same first four letters, or the shorter one is a prefix of the other.
bool kin(std::string_view a, std::string_view b) {
  const std::size_t compared = std::min({std::size_t{4}, a.size(), b.size()});
  return a.substr(0, compared) == b.substr(0, compared);
}

}  // namespace

void refuse_draft(const Config& c) {
  const std::string name = named_class(c);
  const bool named = names_draft(name);
  if (!named && !c.has("dflash_config")) return;
  c.refuse((named ? in_quotes(name) + " is a draft model" : "\"dflash_config\" marks a draft model") +
           ", which reads the states of another model and is not counted; import that model instead");
}

std::string foreign_class(const Config& c) {
  const std::string name = named_class(c), type = c.text("model_type", ""), own = plain(name);
  bool known = own.empty() || type.empty() || kin(plain(type), own);
  for (const auto& [family, of_class] : other_names) known = known || (family == type && own.starts_with(of_class));
  if (known) return "";
  return fmt::format(
      "\"architectures\" names {}, which is not a known class of model_type {}; the model is counted according to its "
      "model_type",
      in_quotes(name), in_quotes(type));
}

}  // namespace llmcalc::import
