#pragma once
/// Terms of a sum, with equal ones merged.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"
#include "report/report.hpp"

namespace llmcalc::explain {

/// Merges terms that differ only in count and operator: "attn.k, attn.v forward".
class MergedTerms {
 public:
  explicit MergedTerms(std::vector<Symbol> symbols) : terms_{std::move(symbols), {}} {}

  void add(const std::string& name, const std::string& what, Count times, std::vector<std::string> values) {
    for (Row& r : rows_) {
      if (r.values != values || r.what != what) continue;
      r.times += times;
      if (std::find(r.names.begin(), r.names.end(), name) == r.names.end()) r.names.push_back(name);
      return;
    }
    rows_.push_back({{name}, what, times, std::move(values)});
  }

  Terms terms() {
    for (Row& r : rows_) {
      r.values.insert(r.values.begin(), number_text(r.times));
      terms_.rows.push_back({fmt::format("{} {}", fmt::join(r.names, ", "), r.what), r.values});
    }
    return std::move(terms_);
  }

 private:
  struct Row {
    std::vector<std::string> names;
    std::string what;
    Count times;
    std::vector<std::string> values;
  };
  std::vector<Row> rows_;
  Terms terms_;
};

}  // namespace llmcalc::explain
