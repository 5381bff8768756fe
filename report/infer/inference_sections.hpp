#pragma once
/// Sections about inference: prefill, decode, drafts, whole generation, limits.

#include "ask/answer/inference.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The engine of the estimate for prefill and decode or for a server, with the estimator's parameters and classes.
Section inference_estimate_section(const Request& r);

/// A part of a pass's time, above 0.
struct SpentPart {
  std::string_view key, label;
  Seconds time;
};
/// Parts that sum to the time of the pass. Precondition: the request has an engine.
std::vector<SpentPart> prefill_parts(const InferenceAnswer& a);
std::vector<SpentPart> decode_parts(const InferenceAnswer& a);

Section prefill_section(const InferenceAnswer& a);
Section decode_section(const InferenceAnswer& a);
/// Empty without MTP modules.
Section drafts_section(const InferenceAnswer& a);
Section end_to_end_section(const InferenceAnswer& a);
Section limits_section(const InferenceAnswer& answer);

}  // namespace llmcalc
