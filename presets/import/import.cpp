#include "presets/import/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "presets/arch_check.hpp"
#include "presets/import/families.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using import::Config;
using import::Family;

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> out;
    for (const auto group :
         {import::llama_families, import::gpt_families, import::falcon_families, import::gemma_families,
          import::cohere_families, import::olmo_families, import::phi_families, import::stablelm_families,
          import::qwen_families, import::deepseek_families, import::glm_families, import::mixtral_families,
          import::llama4_families, import::minimax_families})
      for (const Family& f : group()) out.push_back(f);
    return out;
  }();
  return all;
}

const Family* family_called(std::string_view model_type) {
  for (const Family& f : families())
    if (f.model_type == model_type) return &f;
  return nullptr;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

[[noreturn]] void refuse_type(const Config& c, const std::string& type) {
  const auto near = nearest(type, importable_types(), 1);
  c.refuse(fmt::format("model_type {} is not known{}; the known ones are {}; for others write an llmcalc model file",
                       in_quotes(type), near.empty() ? "" : " (did you mean " + in_quotes(near[0]) + "?)",
                       listed(importable_types())));
}

/// The text model's type inside a composite config that leaves it unsaid: "<outer>_text" unless listed here.
std::string text_type(const std::string& outer) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> known = {{{"llava", "llama"},
                                                                                          {"llava_next", "llama"},
                                                                                          {"video_llava", "llama"},
                                                                                          {"vipllava", "llama"},
                                                                                          {"mistral3", "mistral"},
                                                                                          {"paligemma", "gemma"},
                                                                                          {"internvl", "qwen2"},
                                                                                          {"aya_vision", "cohere2"}}};
  for (const auto& [type, text] : known)
    if (type == outer) return std::string(text);
  return outer + "_text";
}

/// The text part of a composite config as a config of its own; it inherits the tying of the head where it is silent.
json::Value text_part(const Config& outer) {
  json::Value text = *outer.find("text_config");
  if (!text.is_object()) outer.refuse("\"text_config\" is no object; the text model's config is wanted");
  if (!text.contains("model_type")) text["model_type"] = text_type(outer.text("model_type", ""));
  if (!text.contains("tie_word_embeddings") && outer.has("tie_word_embeddings"))
    text["tie_word_embeddings"] = outer.flag("tie_word_embeddings", true);
  return text;
}

/// The last folder or file name in a path, without ".json".
std::string stem(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  if (const auto slash = path.rfind('/'); slash != std::string::npos) path = path.substr(slash + 1);
  return path.ends_with(".json") ? path.substr(0, path.size() - 5) : path;
}

/// The checkpoint's name where the config carries it; else that of the file, or of the folder around a config.json.
std::string model_name(const Config& c, const std::string& where) {
  const std::string said = stem(c.text("_name_or_path", ""));
  if (!said.empty()) return said;
  const std::string file = stem(where);
  if (file != "config") return file;
  const auto slash = where.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : stem(where.substr(0, slash));
  return folder.empty() || folder == "." || folder == ".." ? c.text("model_type", "model") : folder;
}

/// What the count leaves out on purpose.
std::string omissions(const Config& c, bool composite) {
  std::string out;
  if (composite) out = "Text part only.";
  const Count predicted = c.count("num_nextn_predict_layers", 0);
  if (predicted > 0)
    out += fmt::format("{}{} multi-token-prediction layer{} beside the model {} not counted.", out.empty() ? "" : " ",
                       predicted, predicted == 1 ? "" : "s", predicted == 1 ? "is" : "are");
  return out;
}

Arch arch_of(const Family& family, const Config& c) {
  try {
    return family.arch(c);
  } catch (const Overflow&) {
    c.refuse("a product of its sizes passes 2^63; one of them is absurd");
  }
}

ModelCard import_text(const Config& c, bool composite) {
  if (c.flag("is_encoder_decoder", false)) c.refuse("\"is_encoder_decoder\" is true; only decoders are known");
  const std::string type = c.text("model_type", "");
  const Family* family = family_called(type);
  if (family == nullptr) refuse_type(c, type);
  ModelCard card;
  card.arch = arch_of(*family, c);
  check_arch(card.arch, c.where());
  card.notes = omissions(c, composite);
  card.unknown_keys = c.suspicious();
  return card;
}

}  // namespace

std::vector<std::string> importable_types() {
  std::vector<std::string> out;
  for (const Family& f : families()) out.emplace_back(f.model_type);
  std::sort(out.begin(), out.end());
  return out;
}

ModelCard import_config(const json::Value& config, const std::string& where) {
  const Config c(config, where);
  if (!c.has("text_config") && !c.has("model_type"))
    c.refuse("\"model_type\" is missing; a Hugging Face config.json names its family there, for example \"llama\"");
  ModelCard card;
  if (c.has("text_config")) {
    const json::Value text = text_part(c);
    card = import_text(Config(text, where + ", \"text_config\""), true);
  } else {
    card = import_text(c, c.has("vision_config"));
  }
  card.name = card.title = model_name(c, where);
  card.source = where;
  return card;
}

}  // namespace llmcalc
