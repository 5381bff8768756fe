#pragma once
/// Sections, notes and JSON about a model, its hardware and the conventions of a request.

#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

json::Value model_json(const ModelCard& card);
json::Value hardware_json(const HardwareCard& card);
/// The device, or the devices of a machine.
json::Value machine_json(const Request& r);
json::Value conventions_json(const Request& r);

Section parameters_section(const ModelCard& card);
Section kv_cache_section(const Request& r);

/// Caveats from the model, the hardware and the plan.
Notes notes(const Request& r);
/// The note on the formats in which matmuls run; empty if these are the weights' formats.
Note formats_of_matmuls(const Request& r);
/// The formats of weights, and their origin unless the user set them: "mxfp4 (experts), bf16: the checkpoint's".
std::string weights_text(const Request& r);
/// The ranks that store vision and audio encoders.
std::string media_encoder_place(const Plan& plan);

}  // namespace llmcalc
