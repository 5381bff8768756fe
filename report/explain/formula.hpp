#pragma once
/// A formula as text: symbols joined by + - * / ^ ( ) and min, max, ceil, floor. Numbers are substituted for the
/// symbols mechanically, so both forms always agree and every printed formula can be evaluated.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/report.hpp"

namespace llmcalc::explain {

/// A symbol of a formula. Its value is a number as printed, with every digit of an integer.
struct Symbol {
  std::string name, meaning, value;
};

/// The range of sum(): one term per row, with one value for each symbol; the symbols' names share a suffix such as
/// "_i".
struct Terms {
  std::vector<Symbol> symbols;  ///< their values are empty: every row has separate values
  struct Row {
    std::string name;
    std::vector<std::string> values;
  };
  std::vector<Row> rows;
};

/// A formula such as "m*sum(n_i*max(F_i/pi, M_i/beta))". In it, sum(body) adds the body over the rows of the terms
/// whose symbols the body uses.
struct Formula {
  std::string expression;
  std::vector<Symbol> own = {};   ///< symbols specific to this formula; all other symbols are in the vocabulary
  std::vector<Terms> terms = {};  ///< terms of sum(), if present
};

/// Whether the character may occur in a symbol or a number.
bool in_word(char c);

/// The symbols of an expression in order of appearance, each once, without functions (min, max, ceil, floor, sum).
std::vector<std::string> identifiers(std::string_view expression);

/// A part of an expression with numbers substituted; named if it is one term of a sum.
struct Piece {
  std::string text, name;
};

/// The expression with values substituted and sums written out. A symbol without a value is unchanged.
std::vector<Piece> substituted(const Formula& formula, const std::vector<Symbol>& values);
std::string joined(const std::vector<Piece>& pieces);

}  // namespace llmcalc::explain
