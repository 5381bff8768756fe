#pragma once
/// Golden cases: quantities with their inputs and values, computed once by an independent implementation of the same
/// formulas, against which textbook and engine are held. golden.json carries them; values are text there, because some
/// pass 2^63.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "calc/textbook/exact.hpp"
#include "text/json.hpp"

namespace llmcalc::golden {

/// An integer or a fraction, exact, or a real number.
using Number = std::variant<textbook::Fraction, double>;

struct Case {
  std::string id, quantity;
  json::Value inputs;
  std::string value;  ///< as written: "174604259328", "0.0877"
  std::string unit, convention;
};

/// The cases of a golden file. Throws InputError on malformed ones.
std::vector<Case> cases(std::string_view text, const std::string& where);
/// Those of golden.json.
const std::vector<Case>& all_cases();

/// What the textbook says to a case's quantity and inputs; nothing if it has no such quantity.
std::optional<Number> textbook_value(const Case& c);

struct Result {
  Number computed;
  bool equal = false;
};
/// The same, compared: whole numbers exactly, others to 1e-9 relative.
std::optional<Result> evaluate_textbook(const Case& c);
bool equal(const Number& computed, std::string_view value);

/// The number as it prints: every digit of a whole one.
std::string text(const Number& number);

}  // namespace llmcalc::golden
