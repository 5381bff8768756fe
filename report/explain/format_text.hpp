#pragma once
/// Bytes of a matrix in a number format, in symbols.

#include <string>

#include "calc/dtype.hpp"

namespace llmcalc::explain {

/// What a format's quantities are called: of weights "p_w", "b_g", ..., of the cache "p_kv", "b_kv", ...
struct FormatSymbols {
  const char *each, *group_bytes, *group, *outer_bytes, *outer;
};

/// Bytes of `out` rows of `in` numbers, each row in its groups; `out` empty: one row. What a tensor has once is left
/// out.
std::string matrix_text(const Format& f, const FormatSymbols& names, const std::string& in, const std::string& out);

}  // namespace llmcalc::explain
