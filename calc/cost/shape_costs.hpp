#pragma once
/// Costs of operators by shape, for calc/cost/cost.hpp. A shape without cost functions does not compile.

#include "calc/cost/cost.hpp"
#include "calc/formats/stored.hpp"

namespace llmcalc::shape_costs {

inline double d(Count n) { return static_cast<double>(n); }
/// Bytes of n elements, as a double like the fields of Traffic.
inline double bytes(DType t, double n) { return n * static_cast<double>(t.format().element_bits) / 8.0; }
inline double matrix_bytes(DType t, Count rows, Count cols) { return d(tensor_bytes(t, rows, cols).value); }
/// Gradient traffic of n weights: one write, preceded by a read if gradients accumulate over micro-batches.
inline double gradient_traffic(const Pricing& p, double n) { return n * d(p.gradient_bytes) * (p.accumulate ? 2 : 1); }

Cost forward(const Lookup&, const Pricing&, const Stored&);
Cost forward(const Linear&, const Pricing&, const Stored&);
Cost forward(const Norm&, const Pricing&, const Stored&);
Cost forward(const Attention&, const Pricing&, const Stored&);
Cost forward(const IndexScores&, const Pricing&, const Stored&);
Cost forward(const Pool&, const Pricing&, const Stored&);
Cost forward(const LinearAttention&, const Pricing&, const Stored&);
Cost forward(const Convolution&, const Pricing&, const Stored&);
Cost forward(const Shift&, const Pricing&, const Stored&);
Cost forward(const Pointwise&, const Pricing&, const Stored&);
Cost forward(const Loss&, const Pricing&, const Stored&);
Cost forward(const Collective&, const Pricing&, const Stored&);

Cost backward_input(const Lookup&, const Pricing&, const Stored&);
Cost backward_input(const Linear&, const Pricing&, const Stored&);
Cost backward_input(const Norm&, const Pricing&, const Stored&);
Cost backward_input(const Attention&, const Pricing&, const Stored&);
Cost backward_input(const IndexScores&, const Pricing&, const Stored&);
Cost backward_input(const Pool&, const Pricing&, const Stored&);
Cost backward_input(const LinearAttention&, const Pricing&, const Stored&);
Cost backward_input(const Convolution&, const Pricing&, const Stored&);
Cost backward_input(const Shift&, const Pricing&, const Stored&);
Cost backward_input(const Pointwise&, const Pricing&, const Stored&);
Cost backward_input(const Loss&, const Pricing&, const Stored&);
Cost backward_input(const Collective&, const Pricing&, const Stored&);

// For all other shapes, one kernel computes both gradients; its cost is in backward_input.
Cost backward_weight(const Lookup&, const Pricing&, const Stored&);
Cost backward_weight(const Linear&, const Pricing&, const Stored&);
inline Cost backward_weight(const Norm&, const Pricing&, const Stored&) { return {}; }
inline Cost backward_weight(const Attention&, const Pricing&, const Stored&) { return {}; }
inline Cost backward_weight(const IndexScores&, const Pricing&, const Stored&) { return {}; }
inline Cost backward_weight(const Pool&, const Pricing&, const Stored&) { return {}; }
inline Cost backward_weight(const LinearAttention&, const Pricing&, const Stored&) { return {}; }
inline Cost backward_weight(const Convolution&, const Pricing&, const Stored&) { return {}; }
inline Cost backward_weight(const Shift&, const Pricing&, const Stored&) { return {}; }
inline Cost backward_weight(const Pointwise&, const Pricing&, const Stored&) { return {}; }
inline Cost backward_weight(const Loss&, const Pricing&, const Stored&) { return {}; }
inline Cost backward_weight(const Collective&, const Pricing&, const Stored&) { return {}; }

Learned learned(const Lookup&);
Learned learned(const Linear&);
Learned learned(const Norm&);
Learned learned(const Attention&);
Learned learned(const IndexScores&);
Learned learned(const Pool&);
Learned learned(const LinearAttention&);
Learned learned(const Convolution&);
Learned learned(const Shift&);
Learned learned(const Pointwise&);
Learned learned(const Loss&);
Learned learned(const Collective&);

}  // namespace llmcalc::shape_costs
