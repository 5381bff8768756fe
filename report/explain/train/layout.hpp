#pragma once
/// Explanations as text, as Markdown and as JSON.

#include <string>
#include <vector>

#include "report/explain/examples.hpp"
#include "report/explain/explanation.hpp"
#include "report/explain/rules.hpp"
#include "report/report.hpp"

namespace llmcalc::explain {

std::string text(const Explanation& e, const Screen& screen);
std::string markdown(const Explanation& e);
json::Value json_of(const Explanation& e);

/// The formula without a model: one form per kind of model or plan that changes it.
std::string text(const Definition& d, const std::vector<Variant>& variants, const Screen& screen);
std::string markdown(const Definition& d, const std::vector<Variant>& variants);
json::Value json_of(const Definition& d, const std::vector<Variant>& variants);

/// The whole cheat sheet.
std::string cheat_sheet_text(const Screen& screen);
std::string cheat_sheet_markdown();
json::Value cheat_sheet_json();

}  // namespace llmcalc::explain
