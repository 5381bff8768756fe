#pragma once
/// Renders the memory of one device as a bar.

#include <string>
#include <utility>
#include <vector>

#include "report/report.hpp"

namespace llmcalc {

/// A part of a bar with the text of its size.
struct BarPart {
  std::string label;
  Bytes bytes;
  char mark;         ///< character of the part's cells
  std::string size;  ///< in the unit of the bar: "15.0"
};

/// The largest parts of the used memory, the rest of it as "other", and the free memory.
std::vector<BarPart> shown_parts(const MemoryBar& bar);
/// Unit of the sizes: "GiB".
std::string_view size_unit(const MemoryBar& bar);
/// The used memory: "96 % of 79.65 GiB".
std::string size_text(const MemoryBar& bar);

/// The bar and its legend in two lines, after a label of `label` columns; empty for a bar without bytes.
std::string bar_text(const MemoryBar& bar, std::size_t label, const Screen& screen);

}  // namespace llmcalc
