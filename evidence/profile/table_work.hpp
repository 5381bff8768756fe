#pragma once
/// Rows of tables of operators as work of the engine: each times some of the engine's own operators, at the shapes that
/// one rank has. FLOPs and bytes are theirs (calc/cost/cost.hpp).

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
  product,      ///< one product, also of several of the engine's with the same input
  elementwise,  ///< norms, activations, rotation: bytes alone
  lookup,
  prompt,    ///< attention of a chunk of a prompt
  decoding,  ///< attention of single tokens
  both,      ///< the two in one call
  experts
};

struct TimedOp {
  Op op;
  Phase phase;
  Cost cost;  ///< forward
};

/// One measured time, and the operators that took it.
struct TimedRow {
  std::size_t table = 0;
  std::string layer;
  TableWork work = TableWork::product;
  Count tokens = 0;  ///< of a call
  Seconds measured;
  std::vector<TimedOp> ops;
};

/// The rows of table number `table`. A layer that the model or the engine does not have is left out, with a sentence in
/// `left_out`. Throws InputError where a row has more experts than the model.
std::vector<TimedRow> timed_rows(std::size_t table, const OperatorTables& t, const TableSubject& s,
                                 std::vector<std::string>& left_out);

}  // namespace llmcalc
