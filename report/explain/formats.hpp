#pragma once
/// Number formats as letters: bytes of weights and of cache rows.

#include "calc/textbook/weight_bytes.hpp"
#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// p: bytes per element in the compute format.
Expr compute_bytes(const Setting& s);

/// Weight bytes of one rank, whose parameter count is at `path`: p_w*N_T if every weight takes the same number of
/// bytes, else summed over matrices. Formats that differ between components, or from the plan's, appear as numbers.
Formula weight_bytes(const Setting& s, const WeightFormats& in, std::string_view path);

/// p_kv, b_kv, ...: the cache's format.
textbook::FormatSizes<Expr> key_format(const Setting& s);
textbook::FormatSizes<Expr> value_format(const Setting& s);

}  // namespace llmcalc::explain
