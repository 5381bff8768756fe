#pragma once
/// The sections of a report, each computed from the engine. Keys are those of the JSON schema and stay.

#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "report/report.hpp"
#include "report/request.hpp"

namespace llmcalc {

json::Value model_json(const ModelCard& card);
json::Value hardware_json(const HardwareCard& card);
json::Value conventions_json(const Request& r);

Section parameters_section(const ModelCard& card);
Section kv_cache_section(const Request& r);

Section training_memory_section(const Request& r);
Section inference_memory_section(const Request& r);
/// The activations by operator group, and where recomputation and precision pay.
Section activations_section(const Request& r);

Section flops_section(const Request& r);
/// The named formulas next to the operators' count.
Section formulas_section(const Request& r);
/// Training compute for --tokens; empty without.
Section run_flops_section(const Request& r);

/// "tensor parallel": a part of a step's breakdown as tables name it.
std::string_view part_label(Part p);
/// The engine that prefill and decode, or a server, are estimated for, and what stands behind the estimate.
Section inference_estimate_section(const Request& r);
/// The same of training. Precondition: the request has software.
Section estimate_section(const Request& r, const TrainEstimate& e);
Section step_section(const Request& r, const TrainEstimate& e);
/// The step's throughput as a share of the peak, by every convention.
Section utilization_section(const Request& r, const TrainEstimate& e);
/// USD per GPU-hour: stated, else the first that the hardware file has.
std::optional<double> price_of(const Request& r);
/// Watts of one GPU: --watts, else the hardware file's; nothing where neither says so.
std::optional<double> watts_of(const Request& r);
/// The whole run; empty if neither --tokens nor a measured throughput is given.
Section run_section(const Request& r, const TrainEstimate& e);

Section prefill_section(const Request& r, const InferEstimate& e);
Section decode_section(const Request& r, const InferEstimate& e);
/// Of a plan without modules: nothing.
Section drafts_section(const Request& r, const InferEstimate& e);
Section end_to_end_section(const Request& r, const InferEstimate& e);
Section limits_section(const Request& r);

/// One line per operator of a training micro-batch, a prefill or a decode step.
Grid operators_grid(const Request& r, Phase phase);

/// Things a reader must know, from the model, the hardware and the plan.
std::vector<std::string> notes(const Request& r);
/// "mxfp4 (experts), bf16: the checkpoint's": the formats of weights, and whose they are unless they were asked for.
std::string weights_text(const Request& r);
/// On which ranks the bytes of towers lie.
std::string tower_place(const Plan& plan);

}  // namespace llmcalc
