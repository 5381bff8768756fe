#pragma once
/// Converts rows of operator tables to operators of the cost model. A row has the time of one or more operators with
/// one rank's shapes; the conversion adds their FLOPs and bytes (calc/cost/cost.hpp).

#include <cstdint>
#include <string>
#include <vector>

#include "calc/cost/cost.hpp"
#include "calc/operator/op.hpp"
#include "calc/operator/pricing.hpp"
#include "evidence/profile/operator_table.hpp"
#include "evidence/profile/table_subject.hpp"

namespace llmcalc {

enum class TableWork : std::uint8_t {
  product,      ///< one matmul, or several operators with the same input
  elementwise,  ///< norms, activations, rotary embeddings: only memory traffic counts
  lookup,
  prompt,    ///< attention over a prompt chunk
  decoding,  ///< attention of single tokens
  both,      ///< a prompt chunk and single tokens in one call
  experts
};

struct TimedOp {
  Op op;
  Phase phase;
  Cost cost;  ///< cost of the forward pass
};

/// A measured time and its operators.
struct TimedRow {
  std::size_t table = 0;
  std::string layer;
  TableWork work = TableWork::product;
  Count tokens = 0;  ///< number of tokens per call
  Seconds measured;
  std::vector<TimedOp> ops;
};

/// Rows of table number `table`. Skips layers that the model or the cost model does not have, and adds a sentence for
/// each to `left_out`. Throws InputError if a row has more experts than the model.
std::vector<TimedRow> timed_rows(std::size_t table, const OperatorTables& t, const TableSubject& s,
                                 std::vector<std::string>& left_out);

}  // namespace llmcalc
