#pragma once
/// What params, memory, flops, train, infer and report have in common: a model, perhaps hardware, a plan, a report.

#include <optional>

#include "cli/arguments.hpp"
#include "cli/report.hpp"
#include "cli/request.hpp"

namespace llmcalc {

struct PlanCommand {
  std::string name, summary, examples;
  unsigned uses = 0;
  Uses checks;
  bool hardware = false, hardware_required = false;
};

/// The request of a plan command, read and checked; nothing if help was asked for. `arguments` is kept for its style.
std::optional<Request> plan_request(const PlanCommand& command, Arguments& arguments, Args args);

/// A report with its head filled in: title, model, hardware, inputs, conventions, notes.
Report plan_report(const PlanCommand& command, const Request& r);

/// Prints it; the exit code.
int print(const Report& report, Style style);

/// "Llama-3.1 405B", or the name where there is no title.
std::string title(const ModelCard& card);
std::string title(const HardwareCard& card);
/// "one H100 SXM 80GB", "8 x H100 SXM 80GB".
std::string devices(const Request& r, Count n);

}  // namespace llmcalc
