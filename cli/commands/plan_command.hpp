#pragma once
/// The commands that answer about a model under a plan: params, memory, flops, train, infer, report.

#include <optional>
#include <span>

#include "cli/arguments.hpp"
#include "cli/report.hpp"
#include "cli/request.hpp"

namespace llmcalc {

struct PlanCommand {
  std::string_view name, summary, examples;
  unsigned uses = 0;
  Uses checks{};
  bool hardware = false, hardware_required = false;
  void (*fill)(const Request& r, Report& report);  ///< sections, operators and conclusion
};

extern const PlanCommand params_command, memory_command, flops_command, train_command, infer_command, report_command;
std::span<const PlanCommand* const> plan_commands();

/// Reads, checks, computes, prints; the exit code.
int run(const PlanCommand& command, Args args);

/// The report of a request that has been read and checked.
Report build(const PlanCommand& command, const Request& r);

/// Reads the arguments of a plan command; nothing if help was asked for and printed.
std::optional<Request> plan_request(const PlanCommand& command, Arguments& arguments, Args args);

/// Prints it; the exit code.
int print(const Report& report, Style style);

/// "Llama-3.1 405B", or the name where there is no title.
std::string title(const ModelCard& card);
std::string title(const HardwareCard& card);
/// "one H100 SXM 80GB", "8 x H100 SXM 80GB".
std::string devices(const Request& r, Count n);

}  // namespace llmcalc
