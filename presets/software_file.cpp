#include "presets/software_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "presets/formats/weight_formats.hpp"
#include "text/error.hpp"
#include "text/json_schema.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

template <typename T>
struct Said {
  std::string_view word;
  T meaning;
};
template <typename T>
Said(const char*, T) -> Said<T>;
constexpr std::array fusion_words{Said{"megatron", Fusion::megatron}, Said{"tuned", Fusion::tuned},
                                  Said{"compiled", Fusion::compiled}, Said{"eager", Fusion::eager},
                                  Said{"unfused", Fusion::unfused},   Said{"native", Fusion::native}};
constexpr std::array attention_words{Said{"vendor", CoreKernel::vendor}, Said{"flash-2", CoreKernel::flash_2}};
constexpr std::array norm_words{Said{"fused", false}, Said{"written out", true}};
constexpr std::array expert_words{Said{"grouped", false}, Said{"one by one", true}};
constexpr std::array tensor_words{Said{"waited for", TensorCollectives::waited_for},
                                  Said{"beside weights", TensorCollectives::beside_weights},
                                  Said{"overlapped", TensorCollectives::overlapped}};
constexpr std::array collective_words{Said{"waited for", false}, Said{"overlapped", true}};
constexpr std::array memory_words{Said{"megatron", MemorySoftware::megatron},
                                  Said{"megatron with deepspeed", MemorySoftware::megatron_deepspeed},
                                  Said{"transformer engine", MemorySoftware::transformer_engine},
                                  Said{"internevo", MemorySoftware::internevo},
                                  Said{"torchtitan", MemorySoftware::titan},
                                  Said{"pytorch", MemorySoftware::pytorch}};
constexpr std::array launching_words{
    Said{"recorded", Launching::recorded}, Said{"compiled", Launching::compiled},
    Said{"local", Launching::local},       Said{"local graphs", Launching::local_graphs},
    Said{"eager", Launching::eager},       Said{"persistent", Launching::persistent}};
constexpr std::array loop_words{Said{"none", ServingLoop::none},
                                Said{"vllm", ServingLoop::vllm},
                                Said{"vllm v0", ServingLoop::vllm_legacy},
                                Said{"tensorrt-llm", ServingLoop::tensorrt},
                                Said{"tensorrt-llm c++", ServingLoop::tensorrt_legacy},
                                Said{"server", ServingLoop::server},
                                Said{"compiled program", ServingLoop::neuron}};
constexpr std::array product_words{Said{"library", false}, Said{"own", true}};
constexpr std::array back_end_words{Said{"vulkan", true}};
constexpr std::array prompt_words{Said{"beside decoding", false}, Said{"first", true}};
constexpr std::array weight_words{Said{"gguf", true}};
constexpr std::array host_words{Said{"computes", true}};
constexpr std::array sum_words{Said{"fp32", false}, Said{"fp16", true}};
enum class Use : std::uint8_t { training, inference, both };
constexpr std::array use_words{Said{"training", Use::training}, Said{"inference", Use::inference},
                               Said{"both", Use::both}};

/// Reads the keyword under `key` as an enum value.
template <typename T, std::size_t n>
T read_word(const json::Object& o, std::string_view key, const std::array<Said<T>, n>& words) {
  std::string all, names;
  for (const Said<T>& w : words) {
    all += (all.empty() ? "" : ", ") + in_quotes(w.word);
    names += (names.empty() ? "" : "|") + std::string(w.word);
  }
  const std::string said = o.word(key, names);
  for (const Said<T>& w : words)
    if (w.word == said) return w.meaning;
  throw InputError(fmt::format("{}, {}: expected one of {}, got {}", o.where(), in_quotes(key), all, in_quotes(said)));
}

template <typename T, std::size_t n>
std::string_view word_of(T meaning, const std::array<Said<T>, n>& words) {
  return std::find_if(words.begin(), words.end(), [&](const Said<T>& w) { return w.meaning == meaning; })->word;
}

TrainingStack read_training(const json::Object& o) {
  return {.fusion = read_word(o, "fusion", fusion_words),
          .core = read_word(o, "attention", attention_words),
          .writes_norms = read_word(o, "norms", norm_words),
          .loops_experts = read_word(o, "experts", expert_words),
          .tensor_collectives = read_word(o, "tensor_exchanges", tensor_words),
          .hides_data = read_word(o, "data_exchanges", collective_words),
          .hides_experts = o.has("expert_exchanges") && read_word(o, "expert_exchanges", collective_words),
          .graphs = o.flag_or("graphs", false)};
}

std::vector<Component> read_components(const json::Object& o, const char* key) {
  o.expects(key, [] { return json::words_among(split_at_bars(component_names() + "|position")); });
  std::vector<Component> all;
  for (const std::string& word : o.texts(key)) {
    std::size_t i = 0;
    while (i < component_count && component_name(static_cast<Component>(i)) != word) ++i;
    if (i == component_count)
      throw InputError(fmt::format("{}, {}: unknown component {}", o.where(), in_quotes(key), in_quotes(word)));
    all.push_back(static_cast<Component>(i));
  }
  return all;
}

InferenceStack read_inference(const json::Object& o) {
  return {.launching = read_word(o, "launching", launching_words),
          .loop = read_word(o, "loop", loop_words),
          .own_products = read_word(o, "products", product_words),
          .own_collectives = read_word(o, "exchanges", product_words),
          .prompts_first = read_word(o, "prompts", prompt_words),
          .half_sums = read_word(o, "sums", sum_words),
          .vulkan = o.has("back_end") && read_word(o, "back_end", back_end_words)};
}

}  // namespace

std::string_view word(Fusion f) { return word_of(f, fusion_words); }
std::string_view word(Launching l) { return word_of(l, launching_words); }

SoftwareCard read_software_file(const json::Value& value, const std::string& where) {
  const json::Object o(value, where);
  SoftwareCard card;
  card.name = o.text("name");
  card.title = o.text_or("title", card.name);
  if (o.has("aliases")) card.aliases = o.texts("aliases");
  card.counterpart = o.text_or("counterpart", "");
  const Use use = read_word(o, "for", use_words);
  if (use != Use::inference) card.training = read_training(o);
  if (use != Use::training) card.inference = read_inference(o);
  if (card.training && o.has("memory")) card.memory = read_word(o, "memory", memory_words);
  if (card.training && o.has("defaults"))
    for (const auto& [key, v] : o.object("defaults").value().items()) card.defaults.emplace_back(key, v);
  if (card.training && o.has("widens")) card.widens = read_components(o, "widens");
  if (card.training && o.has("vocabulary_multiple")) card.vocabulary_multiple = o.positive("vocabulary_multiple");
  if (card.inference && o.has("weights")) card.gguf_weights = read_word(o, "weights", weight_words);
  if (card.inference && o.has("host")) card.computes_on_host = read_word(o, "host", host_words);
  if (card.inference && o.has("server")) card.server = read_engine_law(o.object("server"));
  if (o.has("capabilities")) card.capabilities = read_capabilities(o.object("capabilities"));
  if (o.has("launch")) card.launch = std::make_shared<const Launch>(read_launch(o.object("launch")));
  card.source = o.text("source");
  card.notes = o.text_or("notes", "");
  o.refuse_unread();
  return card;
}

WeightFormats widened(WeightFormats base, const SoftwareCard& software) {
  const auto is_matrix = [](Component c) { return is_inside_block(c); };
  const bool any_base = std::any_of(software.widens.begin(), software.widens.end(), is_matrix);
  if (!any_base && base[Component::attention].plain()) return base;
  for (const Component c : software.widens)
    if (base[c].plain() || !is_inside_block(c)) base[c] = dtypes::fp32;
  return base;
}

TrainingStack stack_of(const SoftwareCard& software, const Arch& arch, const Plan& plan) {
  TrainingStack s = *software.training;
  s.writes_norms &= arch.norm == NormKind::rms_norm;
  if (plan.attention == AttentionImpl::naive)
    s.core =
        s.fusion == Fusion::megatron || s.fusion == Fusion::tuned ? CoreKernel::fused_softmax : CoreKernel::unfused;
  return s;
}

}  // namespace llmcalc
