#pragma once
/// Sections about inference: prefill, decode, drafts, whole generation, limits.

#include "ask/answer/inference.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The engine that prefill and decode, or a server, are estimated for, and what stands behind the estimate.
Section inference_estimate_section(const Request& r);

/// A term of the time of a pass that takes time.
struct SpentPart {
  std::string_view key, label;
  Seconds time;
};
/// They add up to the pass. Precondition: the request has an engine.
std::vector<SpentPart> prefill_parts(const InferenceAnswer& a);
std::vector<SpentPart> decode_parts(const InferenceAnswer& a);

Section prefill_section(const InferenceAnswer& a);
Section decode_section(const InferenceAnswer& a);
/// Of a plan without modules: nothing.
Section drafts_section(const InferenceAnswer& a);
Section end_to_end_section(const InferenceAnswer& a);
Section limits_section(const InferenceAnswer& answer);

}  // namespace llmcalc
