#pragma once
/// Sections about inference: prefill, decode, drafts, whole generation, limits.

#include "ask/request/request.hpp"
#include "calc/infer.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The engine that prefill and decode, or a server, are estimated for, and what stands behind the estimate.
Section inference_estimate_section(const Request& r);

Section prefill_section(const Request& r, const InferEstimate& e);
Section decode_section(const Request& r, const InferEstimate& e);
/// Of a plan without modules: nothing.
Section drafts_section(const Request& r, const InferEstimate& e);
Section end_to_end_section(const Request& r, const InferEstimate& e);
Section limits_section(const Request& r);

}  // namespace llmcalc
