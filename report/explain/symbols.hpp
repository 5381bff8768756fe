#pragma once
/// The vocabulary: what every letter of a formula means, and what it is worth in a setting. Sizes as in Goon App. A
/// where it names them.

#include <optional>
#include <string_view>
#include <vector>

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// About what a quantity is; B is a micro-batch in training and the sequences served in inference.
enum class Subject : std::uint8_t { model, training, inference };

/// The symbol in this setting; nothing if no formula may use it.
std::optional<Symbol> symbol(const Setting& s, Subject about, std::string_view name);

/// All symbols of a formula with their values in order of appearance. A symbol that the vocabulary lacks is a mistake
/// of this program.
std::vector<Symbol> symbols(const Setting& s, Subject about, const Formula& formula);

}  // namespace llmcalc::explain
