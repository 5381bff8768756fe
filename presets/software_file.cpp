#include "presets/software_file.hpp"

#include <fmt/format.h>

#include <array>

#include "text/error.hpp"
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
constexpr std::array exchange_words{Said{"waited for", false}, Said{"overlapped", true}};

/// One of a key's words.
template <typename T, std::size_t n>
T read_word(const json::Object& o, std::string_view key, const std::array<Said<T>, n>& words) {
  const std::string said = o.text(key);
  std::string all;
  for (const Said<T>& w : words) {
    if (w.word == said) return w.meaning;
    all += (all.empty() ? "" : ", ") + in_quotes(w.word);
  }
  throw InputError(fmt::format("{}, {}: expected one of {}, got {}", o.where(), in_quotes(key), all, in_quotes(said)));
}

}  // namespace

SoftwareCard read_software_file(const json::Value& value, const std::string& where) {
  const json::Object o(value, where);
  SoftwareCard card;
  card.name = o.text("name");
  card.title = o.text_or("title", card.name);
  if (o.has("aliases")) card.aliases = o.texts("aliases");
  read_word(o, "for", std::array{Said{"training", true}});
  card.stack = {.fusion = read_word(o, "fusion", fusion_words),
                .core = read_word(o, "attention", attention_words),
                .writes_norms = read_word(o, "norms", norm_words),
                .loops_experts = read_word(o, "experts", expert_words),
                .hides_tensor = read_word(o, "tensor_exchanges", exchange_words)};
  card.source = o.text("source");
  card.notes = o.text_or("notes", "");
  o.refuse_unread();
  return card;
}

TrainingStack stack_of(const SoftwareCard& software, const Arch& arch, const Plan& plan) {
  TrainingStack s = software.stack;
  s.writes_norms &= arch.norm == NormKind::rms_norm;
  if (plan.attention == AttentionImpl::naive)
    s.core =
        s.fusion == Fusion::megatron || s.fusion == Fusion::tuned ? CoreKernel::fused_softmax : CoreKernel::unfused;
  return s;
}

}  // namespace llmcalc
