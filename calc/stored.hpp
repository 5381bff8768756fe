#pragma once
/// In which formats an operator's weights and its cache lie in memory.

#include "calc/op.hpp"
#include "calc/pricing.hpp"

namespace llmcalc {

/// Formats of an operator's weights; some formats leave tables, head, norms and biases in the compute format.
struct Stored {
  DType matrix, vector;
  DType result;  ///< of its matrix product
};
/// Norms of queries, keys and latent rows are attention's parameters, and are stored as norms are.
Stored stored(const Shape& shape, Component component, const WeightFormats& weights, DType compute);
Stored stored(const Shape& shape, Component component, const Pricing& p);

/// Keys and values of one token of one sequence in format t, each a row of its own: one per KV head, or the latent row.
Bytes token_rows(const Attention& a, DType t, bool latent);

}  // namespace llmcalc
