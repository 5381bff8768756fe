#pragma once
/// Golden cases: quantities with inputs and values from an independent implementation of the same formulas. Tests
/// compare the textbook and the engine with them. golden.json stores the values as text because some exceed 2^63.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "calc/textbook/exact.hpp"
#include "text/json.hpp"

namespace llmcalc::golden {

/// An exact integer or fraction, or a real number.
using Number = std::variant<textbook::Fraction, double>;

struct Case {
  std::string id, quantity;
  json::Value inputs;
  std::string value;  ///< as written: "174604259328", "0.0877"
  std::string unit, convention;
};

/// The cases of a golden file. Throws InputError if it is malformed.
std::vector<Case> cases(std::string_view text, const std::string& where);
/// The cases of golden.json.
const std::vector<Case>& all_cases();

/// The textbook's value for a case; nullopt if it lacks the quantity.
std::optional<Number> textbook_value(const Case& c);

struct Result {
  Number computed;
  bool equal = false;
};
/// The textbook's value, compared with the golden one: integers exactly, others to 1e-9 relative.
std::optional<Result> evaluate_textbook(const Case& c);
bool equal(const Number& computed, std::string_view value);

/// The number as printed, with all digits of an integer.
std::string text(const Number& number);

}  // namespace llmcalc::golden
