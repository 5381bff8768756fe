#pragma once
/// The device and the model that tables of operators were measured for, as the engine's inputs.

#include <optional>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/device.hpp"
#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "evidence/profile/operator_table.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct TableSubject {
  std::string name;  ///< "llama-3.1-8b, tp 1"
  Arch arch;
  Plan plan;  ///< number formats alone
  Layout layout;
};

/// The name of the hardware preset that all tables mean, by meta.yaml or by the device's folder. Throws InputError
/// where one means none, with the nearest names, or where two mean different ones.
std::string device_of(const std::vector<OperatorTables>& all);

/// The model is `said`, or else the preset that meta.yaml's model or the model's folder means; the formats are
/// meta.yaml's. What was assumed is added to `assumed`, in sentences. Throws InputError where there is no such model or
/// format, where the ranks do not divide the model, or where a model with experts has no times of them.
TableSubject subject_of(const OperatorTables& t, const std::optional<ModelCard>& said, const Device& device,
                        std::vector<std::string>& assumed);

}  // namespace llmcalc
