#include <array>

#include "report/plot/report_charts.hpp"
#include "report/plot/report_numbers.hpp"
#include "report/render/render.hpp"

namespace llmcalc::plot {
namespace {

/// Sections with a time by part, and the names of their bars.
constexpr std::array timed_sections{std::pair{"step", "step"}, std::pair{"prefill", "prefill"},
                                    std::pair{"decode", "decode step"}};

/// A bar of named seconds; without parts if the section lacks them.
Bar seconds_of(const json::Value& report, const std::string& path, const char* name) {
  Bar bar{.name = name};
  const json::Value* parts = value_at(report, path);
  if (parts == nullptr || !parts->is_object()) return bar;
  for (const auto& [key, value] : parts->items())
    if (const auto seconds = number_of(value); seconds && *seconds > 0) bar.parts.emplace_back(key, *seconds);
  return bar;
}

}  // namespace

std::optional<Chart> breakdown_chart(const json::Value& report) {
  Bars bars{.value = {"seconds", Unit::seconds}};
  for (const auto& [section, name] : timed_sections)
    if (Bar bar = seconds_of(report, std::string(section) + ".breakdown_s", name); !bar.parts.empty())
      bars.bars.push_back(std::move(bar));
  if (bars.bars.empty()) return std::nullopt;
  return Chart{"", "Time by part", "Time of a step or pass by part: " + subject_of_report(report), bars};
}

std::optional<Chart> sensitivity_chart(const json::Value& report) {
  Bars bars{.value = {"less time if this part is 10 % better", Unit::ratio}};
  for (const char* path : {"sensitivity", "decode_sensitivity"}) {
    const json::Value* changes = value_at(report, path);
    if (changes == nullptr || !changes->is_object()) continue;
    for (const auto& [key, value] : changes->items())
      if (const auto change = number_of(value)) bars.bars.push_back({.name = key, .parts = {{"gain", -*change}}});
  }
  if (bars.bars.empty()) return std::nullopt;
  return Chart{"", "Sensitivity",
               "Share of the time saved by a 10 % improvement of one part: " + subject_of_report(report), bars};
}

}  // namespace llmcalc::plot
