#include "report/explain/setting.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/sections.hpp"

namespace llmcalc::explain {
namespace {

LayerCounts counted(const Arch& a) {
  LayerCounts n;
  for (Count i = 0; i < a.layers; ++i) {
    const bool linear = a.linear_layers.contains(i), windowed = !linear && a.sliding.layers.contains(i);
    ++(linear ? n.linear : windowed ? n.windowed : n.full);
    ++(a.moe.layers.contains(i) ? n.experts : n.dense);
  }
  return n;
}

}  // namespace

Setting::Setting(const Request& request, const Parts& parts)
    : request_(request), parts_(parts), layers_(counted(request.model.arch)) {
  keep(parameters_section(request.model));
  if (parts.training) {
    for (const Section& s : {flops_section(request), formulas_section(request), run_flops_section(request),
                             training_memory_section(request), activations_section(request)})
      keep(s);
  }
  if (parts.inference) {
    keep(inference_memory_section(request, "inference_memory"));
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

std::string Setting::layers(std::string_view symbol) const {
  const Count n = symbol == "L_f"   ? layers_.full
                  : symbol == "L_w" ? layers_.windowed
                  : symbol == "L_l" ? layers_.linear
                  : symbol == "L_d" ? layers_.dense
                                    : layers_.experts;
  return n == 0 ? "" : n == arch().layers ? "L" : std::string(symbol);
}

std::string Setting::softmax_layers() const {
  if (layers_.linear == 0) return "L";
  return layers_.full + layers_.windowed == 0 ? "" : "(L - L_l)";
}

std::string Setting::cut(const std::string& width, Count value) const {
  const Count t = ranks(layout(), Group::tensor);
  if (t == 1) return width;
  if (value % t == 0) return width + "/T";
  return "ceil(" + width + "/T)";
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
