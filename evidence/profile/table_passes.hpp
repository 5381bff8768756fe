#pragma once
/// Pass times from measured operator tables.

#include <vector>

#include "evidence/names/device_name.hpp"
#include "evidence/profile/operator_table.hpp"
#include "evidence/rows/run_case.hpp"
#include "serve/times/pass_times.hpp"

namespace llmcalc {

/// Tables that may be for a device: those with its name in meta.yaml or the folder, and those that name no preset.
std::vector<OperatorTables> tables_of_device(const HardwareCard& hardware, const std::vector<OperatorTables>& all,
                                             const Devices& devices);

/// Pass times of a rank. Layers, head and attention are measured; collectives and the engine's loop are estimated.
/// Throws InputError if no table is for the run's model, or if a layer is missing.
PassTimes table_passes(const RunCase& c, const std::vector<OperatorTables>& tables, const InferenceParameters& p);

}  // namespace llmcalc
