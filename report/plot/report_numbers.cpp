#include "report/plot/report_numbers.hpp"

#include <algorithm>

#include "report/render/render.hpp"

namespace llmcalc::plot {

const json::Value* value_at(const json::Value& report, std::string_view path) {
  const json::Value* at = &report;
  while (!path.empty()) {
    if (!at->is_object()) return nullptr;
    const std::size_t dot = path.find('.');
    const auto found = at->find(std::string(path.substr(0, dot)));
    if (found == at->end()) return nullptr;
    at = &*found;
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return at;
}

std::optional<double> number_at(const json::Value& report, std::string_view path) {
  const json::Value* value = value_at(report, path);
  return value == nullptr ? std::nullopt : number_of(*value);
}

std::string text_at(const json::Value& report, std::string_view path) {
  const json::Value* value = value_at(report, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::string words_of_key(std::string_view key) {
  if (key.ends_with("_bytes")) key.remove_suffix(6);
  std::string words(key);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string subject_of_report(const json::Value& report) {
  std::string subject = text_at(report, "model.title");
  if (subject.empty()) subject = text_at(report, "model.name");
  const std::string device = text_at(report, "hardware.name");
  if (subject.empty() || device.empty()) return subject + device;
  return subject + " on " + device;
}

}  // namespace llmcalc::plot
