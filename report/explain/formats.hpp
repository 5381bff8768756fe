#pragma once
/// Number formats as letters: bytes of weights and of rows of the cache.

#include "calc/textbook/weight_bytes.hpp"
#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// p: bytes of a number in the compute format.
Expr compute_bytes(const Setting& s);

/// p_w*N_T where every weight takes as many bytes, else matrix by matrix; of one rank, whose parameters are at `path`.
/// Formats that differ from component to component, or from the plan's, stand there as numbers.
Formula weight_bytes(const Setting& s, const WeightFormats& in, std::string_view path);

/// p_kv, b_kv, ...: the cache's format.
textbook::FormatSizes<Expr> key_format(const Setting& s);
textbook::FormatSizes<Expr> value_format(const Setting& s);

}  // namespace llmcalc::explain
