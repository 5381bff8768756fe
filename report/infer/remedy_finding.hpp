#pragma once
/// Changes that make a batch, or a server's request, fit.

#include "ask/answer/inference.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Changes that make the plan fit, best first: "to fit: --tp 2 (9.21 GiB per GPU on 2 GPUs, 8.2 ms per token); ...".
/// Precondition: the request has hardware, and the plan does not fit.
Finding remedy_finding(const InferenceAnswer& a);
/// The same changes as JSON rows.
json::Value remedies_json(const InferenceAnswer& a);

}  // namespace llmcalc
