#include "report/explain/formula.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace llmcalc::explain {
namespace {

constexpr std::array<std::string_view, 5> functions{"min", "max", "ceil", "floor", "sum"};

bool is_function(std::string_view word) {
  return std::find(functions.begin(), functions.end(), word) != functions.end();
}
bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool in_number(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; }

/// The identifier or number at `from`, otherwise one character. A number includes its exponent.
std::string_view token(std::string_view text, std::size_t from) {
  std::size_t to = from + 1;
  if (starts_word(text[from])) {
    while (to < text.size() && in_word(text[to])) ++to;
  } else if (in_number(text[from])) {
    while (to < text.size() && (in_number(text[to]) || text[to] == 'e' || (text[to - 1] == 'e' && text[to] == '-')))
      ++to;
  }
  return text.substr(from, to - from);
}

/// The position of the parenthesis that closes the one at `open`.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return text.size();
}

const Symbol* find(const std::vector<Symbol>& symbols, std::string_view name) {
  const auto it = std::find_if(symbols.begin(), symbols.end(), [&](const Symbol& s) { return s.name == name; });
  return it == symbols.end() ? nullptr : &*it;
}

std::string put_in(std::string_view expression, const std::vector<Symbol>& values) {
  std::string out;
  for (std::size_t i = 0; i < expression.size();) {
    const std::string_view t = token(expression, i);
    const Symbol* s = starts_word(t[0]) ? find(values, t) : nullptr;
    out += s && !s->value.empty() ? s->value : std::string(t);
    i += t.size();
  }
  return out;
}

/// The terms whose symbols a sum's body uses.
const Terms* terms_of(const Formula& formula, std::string_view body) {
  for (const std::string& word : identifiers(body))
    for (const Terms& t : formula.terms)
      if (find(t.symbols, word)) return &t;
  return nullptr;
}

/// Adds one piece per row of a sum.
void write_out(std::string_view body, const Terms& terms, const std::vector<Symbol>& values, std::vector<Piece>& out) {
  if (terms.rows.empty()) out.push_back({"0", ""});
  for (std::size_t r = 0; r < terms.rows.size(); ++r) {
    std::vector<Symbol> all = terms.symbols;
    for (std::size_t i = 0; i < all.size(); ++i) all[i].value = terms.rows[r].values[i];
    all.insert(all.end(), values.begin(), values.end());
    out.push_back({(r == 0 ? "" : " + ") + put_in(body, all), terms.rows[r].name});
  }
}

}  // namespace

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string> identifiers(std::string_view expression) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < expression.size();) {
    const std::string_view t = token(expression, i);
    if (starts_word(t[0]) && !is_function(t) && std::find(all.begin(), all.end(), t) == all.end()) all.emplace_back(t);
    i += t.size();
  }
  return all;
}

std::vector<Piece> substituted(const Formula& formula, const std::vector<Symbol>& values) {
  const std::string_view text = formula.expression;
  std::vector<Piece> out;
  std::size_t done = 0;
  const auto plain = [&](std::size_t to) {
    if (to > done) out.push_back({put_in(text.substr(done, to - done), values), ""});
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view t = token(text, i);
    if (t == "sum") {
      const std::size_t open = i + t.size(), close = closing(text, open);
      const std::string_view body = text.substr(open + 1, close - open - 1);
      if (const Terms* terms = terms_of(formula, body)) {
        plain(i);
        out.push_back({"(", ""});
        write_out(body, *terms, values, out);
        done = close;
        i = close;
        continue;
      }
    }
    i += t.size();
  }
  plain(text.size());
  return out;
}

std::string joined(const std::vector<Piece>& pieces) {
  std::string s;
  for (const Piece& p : pieces) s += p.text;
  return s;
}

}  // namespace llmcalc::explain
