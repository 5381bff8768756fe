#pragma once
/// The vocabulary: the meaning of every symbol of a formula, and its value in a setting. Sizes are named as in Goon
/// App. A if they occur there.

#include <optional>
#include <string_view>
#include <vector>

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// The subject of a quantity. B is a micro-batch in training, and the sequences served in inference.
enum class Subject : std::uint8_t { model, training, inference };

/// The symbol with its value in this setting; absent if the vocabulary lacks the name.
std::optional<Symbol> symbol(const Setting& s, Subject about, std::string_view name);

/// All symbols of a formula with their values in order of appearance. A symbol missing from the vocabulary is a bug.
std::vector<Symbol> symbols(const Setting& s, Subject about, const Formula& formula);

}  // namespace llmcalc::explain
