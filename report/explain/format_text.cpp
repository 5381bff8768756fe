#include "report/explain/format_text.hpp"

#include "report/explain/sum.hpp"

namespace llmcalc::explain {

std::string matrix_text(const Format& f, const FormatSymbols& names, const std::string& in, const std::string& out) {
  const std::string groups = f.group > 0 ? product({out, "ceil(" + ratio(in, names.group) + ")"}) : out;
  std::string s = f.element_bits > 0 ? product({names.each, out, in}) : "";
  if (f.group != 0) s += (s.empty() ? "" : " + ") + product({names.group_bytes, groups});
  if (f.outer > 0) s += std::string(" + ") + names.outer_bytes + "*ceil(" + groups + "/" + names.outer + ")";
  const bool whole = f.element_bits % 8 == 0 && f.group_bits % 8 == 0 && f.outer_bits % 8 == 0;
  return whole ? s : "ceil(" + s + ")";
}

}  // namespace llmcalc::explain
