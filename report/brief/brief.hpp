#pragma once
/// The short answer in text: the verdict, memory bars, and selected rows of the report.

#include <string>
#include <string_view>
#include <vector>

#include "report/brief/memory_bar.hpp"

namespace llmcalc {

struct Brief {
  std::vector<MemoryBar> bars{};
  std::vector<std::string_view> rows{};  ///< paths of rows, or of whole sections
  bool with_grid = false;                ///< as many rows of the first grid as fit
  std::size_t lines = 16;                ///< limit for the short answer
  std::string_view why{};                ///< a quantity to explain: "step.time_s"
  bool has_operators = false;            ///< whether --ops adds a line per operator
};

}  // namespace llmcalc
