#include "report/explain/setting.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "ask/answer/serving/engine.hpp"
#include "calc/parallel/vocabulary.hpp"
#include "report/infer/inference_sections.hpp"
#include "report/infer/target_report.hpp"
#include "report/model/flops_sections.hpp"
#include "report/model/model_sections.hpp"
#include "report/serve/serving_report.hpp"
#include "report/serve/serving_sections.hpp"
#include "report/train/process_section.hpp"
#include "report/train/run_section.hpp"
#include "report/train/sensitivity_section.hpp"
#include "report/train/stages.hpp"
#include "report/train/step_target.hpp"
#include "report/train/training_sections.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {
namespace {

using LetterValues = std::map<std::string, Count, std::less<>>;

textbook::Sizes<Expr> letters(const Arch& arch, Count ranks, const char* vocabulary, LetterValues& values) {
  return textbook::sizes<Expr>(arch, ranks, [&](const char* name, Count value) {
    const char* letter = std::string_view(name) == "V" ? vocabulary : name;
    values[letter] = value;
    return Expr(letter, value);
  });
}
/// The sizes of a training rank, whose vocabulary shard may be padded.
textbook::Sizes<Expr> trained_letters(const Request& r, LetterValues& values) {
  Arch arch = r.model.arch;
  arch.vocabulary = padded_vocabulary(arch, r.layout);
  const bool pads = arch.vocabulary != r.model.arch.vocabulary;
  return letters(arch, ranks(r.layout, Group::tensor), pads ? "V_T" : "V", values);
}

/// A capacity of 100 requests per second for general formulas, which have no values. With sessions, a queue reduces the
/// throughput, because it evicts their cached tokens.
ServingCapacity assumed_capacity(const Request& r) {
  ServingCapacity c{.requests = 100, .time = Seconds(1), .overloaded = 100};
  if (r.serving.turns == 1) return c;
  c.overloaded = 90;
  c.cached = 0.5;
  return c;
}

}  // namespace

Setting::Setting(const Request& request, const SettingParts& parts)
    : training_(request),
      inference_(request),
      serving_(request, parts.terms ? std::nullopt : std::optional(assumed_capacity(request))),
      parts_(parts),
      sizes_(letters(arch(), 1, "V", letters_)),
      rank_sizes_(letters(arch(), ranks(layout(), Group::tensor), "V", letters_)),
      trained_sizes_(trained_letters(request, letters_)) {}

std::optional<Count> Setting::letter(std::string_view name) const {
  const auto found = letters_.find(name);
  return found == letters_.end() ? std::nullopt : std::optional(found->second);
}

namespace {

using S = const Setting&;

bool always(S) { return true; }
bool training(S s) { return s.parts().training; }
bool inference(S s) { return s.parts().inference; }
bool training_time(S s) { return training(s) && s.request().hardware; }
bool inference_time(S s) { return inference(s) && s.request().hardware; }

bool estimated_inference(S s) { return inference_time(s) && s.request().engine.has_value(); }
bool estimated_training(S s) { return training_time(s) && s.request().software.has_value(); }

bool asks_speed(S s) {
  const auto& target = s.request().target;
  return inference_time(s) && target && target->for_inference();
}
bool asks_step(S s) {
  const auto& target = s.request().target;
  return training_time(s) && target && target->for_training();
}

bool is_served(S s) { return inference_time(s) && has_traffic(s.request().serving); }

bool has_one_pool(S s) { return is_served(s) && !s.request().serving.pools; }

/// A section of the report, and the condition under which it exists.
struct SectionSource {
  std::string_view key;
  bool (*available)(S);
  Section (*section)(S);
};
constexpr std::array<SectionSource, 28> sources{{
    {"parameters", always, [](S s) { return parameters_section(s.request().model); }},
    {"flops", training, [](S s) { return flops_section(s.request()); }},
    {"flops", training, [](S s) { return formulas_section(s.request()); }},
    {"flops", training, [](S s) { return run_flops_section(s.request()); }},
    {"memory", training, [](S s) { return training_memory_section(s.training()); }},
    {"memory", training, [](S s) { return process_section(s.training()); }},
    {"layout", training, [](S s) { return layout_section(s.request()); }},
    {"stages", training, [](S s) { return fullest_stage_section(s.training()); }},
    {"activations", training, [](S s) { return activations_section(s.request()); }},
    {"inference_memory", inference, [](S s) { return inference_memory_section(s.inference()); }},
    {"kv_cache", inference, [](S s) { return kv_cache_section(s.request()); }},
    {"step", training_time, [](S s) { return step_section(s.training()); }},
    {"utilization", training_time, [](S s) { return utilization_section(s.training()); }},
    {"sensitivity", estimated_training, [](S s) { return sensitivity_section(s.training()); }},
    {"estimate", estimated_training, [](S s) { return estimate_section(s.training()); }},
    {"run", training_time, [](S s) { return run_section(s.training()); }},
    {"prefill", inference_time, [](S s) { return prefill_section(s.inference()); }},
    {"decode", inference_time, [](S s) { return decode_section(s.inference()); }},
    {"decode_sensitivity", estimated_inference, [](S s) { return decode_sensitivity_section(s.inference()); }},
    {"drafts", inference_time, [](S s) { return drafts_section(s.inference()); }},
    {"end_to_end", inference_time, [](S s) { return end_to_end_section(s.inference()); }},
    {"inference_estimate", estimated_inference, [](S s) { return inference_estimate_section(s.request()); }},
    {"limits", inference_time, [](S s) { return limits_section(s.inference()); }},
    {"target", asks_speed, [](S s) { return target_section(s.request()); }},
    {"step_target", asks_step, [](S s) { return step_target_section(s.request()); }},
    {"serving", is_served, [](S s) { return served_section(s.serving()); }},
    {"engine_memory", is_served, [](S s) { return engine_memory_section(s.request(), s.serving().engine()); }},
    {"steady_state", has_one_pool, [](S s) { return long_run_section(s.serving()); }},
}};

}  // namespace

void Setting::keep(std::string_view section) const {
  if (!saved_.emplace(section).second) return;
  for (const SectionSource& source : sources) {
    if (source.key != section || !source.available(*this)) continue;
    const Section made = source.section(*this);  // "memory.process" is a part of "memory"
    for (const Row& r : made.rows)
      if (!r.key.empty()) rows_.emplace(fmt::format("{}.{}", made.key, r.key), r);
  }
}

const Row* Setting::row(std::string_view path) const {
  keep(path.substr(0, path.find('.')));
  const auto it = rows_.find(path);
  return it == rows_.end() ? nullptr : &it->second;
}

std::string Setting::number(std::string_view path) const {
  const Row* r = row(path);
  return r ? number_text(r->value) : "";
}

Expr Setting::quantity(const char* letter, std::string_view path) const {
  const Row* r = row(path);
  if (r == nullptr) return {letter, 0};
  if (const Count* c = std::get_if<Count>(&r->value)) return {letter, *c};
  if (const Flops* f = std::get_if<Flops>(&r->value)) return {letter, {textbook::Exact(*f), 1}};
  return {letter, 0};
}

std::string number_text(Count n) { return fmt::format("{}", n); }

/// Integers with all digits up to 2^53, other numbers with the digits that identify them.
std::string number_text(double v) {
  if (v == std::floor(v) && std::fabs(v) < 1e10) return fmt::format("{:.0f}", v);
  std::string s = fmt::format("{}", v);
  if (const auto plus = s.find("e+"); plus != std::string::npos) s.erase(plus + 1, 1);
  if (s.ends_with(".0")) s.erase(s.size() - 2);
  if (s.find_first_of("e.") != std::string::npos) return s;
  // Uses an exponent: "3350000000000" becomes "3.35e12".
  const std::size_t last = s.find_last_not_of('0');
  if (s.size() - last < 6) return s;
  return fmt::format("{}{}{}e{}", s[0], last > 0 ? "." : "", s.substr(1, last), s.size() - 1);
}

std::string number_text(const Quantity& q) {
  if (const Count* c = std::get_if<Count>(&q)) return number_text(*c);
  if (const Flops* f = std::get_if<Flops>(&q)) return digits(f->value);
  if (const double* d = std::get_if<double>(&q)) return number_text(*d);
  return "";
}

}  // namespace llmcalc::explain
