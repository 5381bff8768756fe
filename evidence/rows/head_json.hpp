#pragma once
/// Parts of a measurement's JSON that all kinds of rows share.

#include <string>

#include "evidence/rows/measurement_head.hpp"
#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

json::Value head_json(const MeasurementHead& head, const char* command);
/// Reads the keys that all kinds of rows share, except "command". Throws InputError if "id" is missing.
MeasurementHead read_head(const json::Object& row, const std::string& where);

/// Model of a row: a preset's name, a model file or a config.json. Throws InputError.
ModelCard measured_model(const json::Object& row);

}  // namespace llmcalc
