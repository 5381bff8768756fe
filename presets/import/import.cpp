#include "presets/import/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <utility>

#include "presets/arch_check.hpp"
#include "presets/import/families.hpp"
#include "presets/import/numerics.hpp"
#include "presets/import/quantization.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using import::Config;
using import::Family;

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> out;
    for (const auto group :
         {import::llama_families,  import::gpt_families,      import::falcon_families,  import::gemma_families,
          import::cohere_families, import::olmo_families,     import::phi_families,     import::stablelm_families,
          import::qwen_families,   import::deepseek_families, import::glm_families,     import::mixtral_families,
          import::llama4_families, import::minimax_families,  import::mimo_families,    import::delta_families,
          import::mamba_families,  import::lfm_families,      import::encoder_families, import::deepseek_v4_families})
      for (const Family& f : group()) out.push_back(f);
    return out;
  }();
  return all;
}

/// The model types of a family.
std::vector<std::string> types(const Family& f) {
  std::istringstream words{std::string(f.model_types)};
  return {std::istream_iterator<std::string>(words), {}};
}

const Family* family_called(const std::string& model_type) {
  for (const Family& f : families())
    for (const std::string& type : types(f))
      if (type == model_type) return &f;
  return nullptr;
}

/// The three known types whose names take the fewest edits, whether or not they are near.
std::string three_nearest(const std::string& type) {
  std::vector<std::string> known = importable_types();
  std::stable_sort(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(type, a) < edit_distance(type, b);
  });
  return fmt::format("{}, {} and {}", in_quotes(known[0]), in_quotes(known[1]), in_quotes(known[2]));
}

[[noreturn]] void refuse_type(const Config& c, const std::string& type) {
  c.refuse(
      fmt::format("model_type {} is not known; the nearest are {} ('llmcalc list families' shows all {}); for "
                  "others write an llmcalc model file",
                  in_quotes(type), three_nearest(type), importable_types().size()));
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
  if (!text.is_object()) outer.refuse("\"text_config\" is not an object; expected the text model's config");
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

/// Whether a config came from a file that somebody named, not through a pipe.
bool is_named(const std::string& where) { return where != "standard input" && !where.starts_with("/dev/"); }

/// The checkpoint's name where the config carries it; else that of the file, or of the folder around a config.json.
std::string model_name(const Config& c, const std::string& where) {
  const std::string said = stem(c.text("_name_or_path", ""));
  if (!said.empty()) return said;
  if (!is_named(where)) return c.text("model_type", "model");
  const std::string file = stem(where);
  if (file != "config") return file;
  const auto slash = where.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : stem(where.substr(0, slash));
  return folder.empty() || folder == "." || folder == ".." ? c.text("model_type", "model") : folder;
}

/// Whether a default is a choice of the family that shows in the model: not one that follows from sizes that the config
/// states (4 x hidden, as many as heads), nor one of a part that this model does not have.
bool matters(const import::Assumption& assumed, const Arch& a) {
  static constexpr std::array<std::string_view, 7> following = {
      "n_inner",         "ffn_hidden_size",       "num_kv_heads", "kv_n_heads", "num_ln_in_parallel_attn",
      "widening_factor", "no_rope_layer_interval"};
  if (assumed.key == "head_dim") return a.attention == AttentionKind::grouped;
  if (assumed.key.find("window") != std::string::npos || assumed.key == "attention_chunk_size")
    return a.local.reach.limited();
  return std::find(following.begin(), following.end(), assumed.key) == following.end();
}

std::string defaults_taken(const Config& c, const Arch& a) {
  std::string out;
  for (const import::Assumption& assumed : c.assumptions())
    if (matters(assumed, a)) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", assumed.key, assumed.value);
  return out;
}

/// Notes on parts that are not counted, and on defaults of the family that were used.
std::vector<std::string> caveats(const Config& c, const Arch& a, bool composite) {
  std::vector<std::string> out;
  if (composite) out.emplace_back("text part only: a vision or audio tower beside it is not counted");
  const Count predicted = c.count("num_nextn_predict_layers", 0);
  if (predicted > 0 && a.mtp.modules == 0)
    out.push_back(fmt::format("{} multi-token-prediction layer{} beside the model {} not counted", predicted,
                              predicted == 1 ? "" : "s", predicted == 1 ? "is" : "are"));
  if (const std::string taken = defaults_taken(c, a); !taken.empty())
    out.push_back(fmt::format("{} leaves out, so the family's defaults count: {}", c.where(), taken));
  return out;
}

Arch arch_of(const Family& family, const Config& c) {
  try {
    return family.arch(c, family.defaults);
  } catch (const Overflow&) {
    c.refuse("a product of its sizes passes 2^63; one of them is absurd");
  }
}

ModelCard import_text(const Config& c, bool composite) {
  const std::string type = c.text("model_type", "");
  const Family* family = family_called(type);
  if (family == nullptr) refuse_type(c, type);
  ModelCard card;
  card.arch = arch_of(*family, c);
  if (c.flag("is_encoder_decoder", false) && !card.arch.is_encoder_decoder())
    c.refuse("\"is_encoder_decoder\" is true, but " + in_quotes(type) + " is known without the other half");
  check_arch(card.arch, c.where());
  card.caveats = caveats(c, card.arch, composite);
  card.unknown_keys = c.suspicious();
  return card;
}

void take_weights(ModelCard& card, const Config& whole, const Config& text) {
  import::StoredWeights stored = import::stored_weights(whole, text, card.arch);
  card.weights = stored.formats;
  card.products = stored.products;
  card.caveats.insert(card.caveats.end(), stored.caveats.begin(), stored.caveats.end());
}

}  // namespace

std::vector<std::string> importable_types() {
  std::vector<std::string> out;
  for (const Family& f : families())
    for (std::string& type : types(f)) out.push_back(std::move(type));
  std::sort(out.begin(), out.end());
  return out;
}

Runnable import_runnable(const json::Value& config, const std::string& where) {
  const Config c(config, where);
  if (c.has("quantization_config"))
    c.refuse("\"quantization_config\": quantised weights cannot be run; give a checkpoint in fp32, bf16 or fp16");
  const bool composite = c.has("text_config");
  const json::Value text = composite ? text_part(c) : config;
  const Config part(text, composite ? where + ", \"text_config\"" : where, composite);
  const Arch arch = import_text(part, composite).arch;
  return {part.text("model_type", ""), arch, import::numerics(part, arch)};
}

ModelCard import_config(const json::Value& config, const std::string& where) {
  const Config c(config, where);
  if (!c.has("text_config") && !c.has("model_type"))
    c.refuse("\"model_type\" is missing; a Hugging Face config.json names its family there, for example \"llama\"");
  ModelCard card;
  if (c.has("text_config")) {
    const json::Value text = text_part(c);
    const Config part(text, where + ", \"text_config\"", true);
    card = import_text(part, true);
    take_weights(card, c, part);
  } else {
    card = import_text(c, c.has("vision_config"));
    take_weights(card, c, c);
  }
  card.name = card.title = model_name(c, where);
  card.source = where;
  return card;
}

}  // namespace llmcalc
