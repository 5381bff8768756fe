#pragma once
/// Times of passes from measured tables of operators.

#include <vector>

#include "evidence/names/device_name.hpp"
#include "evidence/profile/operator_table.hpp"
#include "evidence/rows/run_case.hpp"
#include "serve/times/pass_times.hpp"

namespace llmcalc {

/// The tables that may be of a device: those that say so by meta.yaml or their folder, and those that name none that a
/// preset is called by.
std::vector<OperatorTables> tables_of_device(const HardwareCard& hardware, const std::vector<OperatorTables>& all,
                                             const Devices& devices);

/// Times of a rank's passes: layers, head and attention as measured, exchanges between ranks and the engine's loop as
/// estimated. Throws InputError where no table is of the run's model, or where they lack a layer.
PassTimes table_passes(const RunCase& c, const std::vector<OperatorTables>& tables, const InferenceParameters& p);

}  // namespace llmcalc
