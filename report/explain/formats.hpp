#pragma once
/// Number formats as symbols: bytes of weights and of cache rows.

#include "calc/textbook/weight_bytes.hpp"
#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// The symbol p: bytes per element in the compute format.
Expr compute_bytes(const Setting& s);

/// Weight bytes of one rank, whose parameter count is at `path`: p_w*N_T if all weights have the same number of bytes,
/// otherwise a sum over matrices. Formats that differ between components, or from the plan's, appear as numbers.
Formula weight_bytes(const Setting& s, const WeightFormats& in, std::string_view path);

/// The cache's format as symbols: p_kv, b_kv, ...
textbook::FormatSizes<Expr> key_format(const Setting& s);
textbook::FormatSizes<Expr> value_format(const Setting& s);

}  // namespace llmcalc::explain
