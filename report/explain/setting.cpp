#include "report/explain/setting.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/sections.hpp"

namespace llmcalc::explain {
namespace {

textbook::Sizes<Expr> letters(const Request& r, Count ranks) {
  return textbook::sizes<Expr>(r.model.arch, ranks, [](const char* name, Count value) { return Expr(name, value); });
}

}  // namespace

Setting::Setting(const Request& request, const Parts& parts)
    : request_(request),
      parts_(parts),
      layers_(textbook::layer_counts(request.model.arch)),
      sizes_(letters(request, 1)),
      rank_sizes_(letters(request, ranks(request.layout, Group::tensor))) {
  keep(parameters_section(request.model));
  if (parts.training) {
    for (const Section& s : {flops_section(request), formulas_section(request), run_flops_section(request),
                             training_memory_section(request), activations_section(request)})
      keep(s);
  }
  if (parts.inference) {
    keep(inference_memory_section(request));
    keep(kv_cache_section(request));
  }
  if (!request.hardware) return;
  if (parts.training) {
    train_ = llmcalc::train(arch(), plan(), layout(), cluster());
    keep(step_section(request, *train_));
    keep(run_section(request, *train_));
  }
  if (parts.inference) {
    infer_ = llmcalc::infer(arch(), plan(), layout(), cluster());
    keep(prefill_section(request, *infer_));
    keep(decode_section(request, *infer_));
    keep(end_to_end_section(request, *infer_));
    keep(limits_section(request));
  }
}

void Setting::keep(const Section& s) {
  for (const Row& r : s.rows)
    if (!r.key.empty()) rows_.emplace(s.key + "." + r.key, r);
}

const Row* Setting::row(std::string_view path) const {
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

/// Whole numbers with all digits up to 2^53, others with as many as tell them apart.
std::string number_text(double v) {
  if (v == std::floor(v) && std::fabs(v) < 1e10) return fmt::format("{:.0f}", v);
  std::string s = fmt::format("{}", v);
  if (const auto plus = s.find("e+"); plus != std::string::npos) s.erase(plus + 1, 1);
  if (s.ends_with(".0")) s.erase(s.size() - 2);
  if (s.find_first_of("e.") != std::string::npos) return s;
  // "3350000000000" -> "3.35e12"
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
