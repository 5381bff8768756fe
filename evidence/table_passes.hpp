#pragma once
/// Times of passes from measured tables of operators.

#include <vector>

#include "evidence/operator_table.hpp"
#include "evidence/run_case.hpp"
#include "serve/pass_times.hpp"

namespace llmcalc {

/// Times of a rank's passes: layers, head and attention as measured, exchanges between ranks and the engine's loop as
/// estimated. Throws InputError where no table is of the run's model and device, or where they lack a layer.
PassTimes table_passes(const RunCase& c, const std::vector<OperatorTables>& tables, const InferenceParameters& p);

}  // namespace llmcalc
