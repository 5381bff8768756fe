#pragma once
/// The verdict of a report: does it fit, how long does it take, what bounds it; in the words of the report's own rows.

#include <string>
#include <string_view>

#include "report/report.hpp"

namespace llmcalc {

/// The verdict on the section "memory" or "inference_memory". `about` precedes the label: "inference fits".
Finding fit_finding(const Report& report, std::string_view memory, std::string_view about = "");

/// Adds what the sections of a training step and its run, or of prefill and decode, come to.
/// Whether training fits: its tensors, and what a process of the software needs.
void add_training_fit(Report& r, std::string_view about = "");
void add_train_verdict(Report& report, std::string_view about = "");
/// "12.1 days, 20,700 GPU-hours, 40k USD": the section "run", which must be there.
std::string run_text(const Report& report);
void add_infer_verdict(Report& report, std::string_view about = "");

}  // namespace llmcalc
