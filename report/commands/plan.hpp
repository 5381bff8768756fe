#pragma once
/// The subcommands of 'llmcalc plan'.

#include <array>

#include "report/commands/arguments.hpp"

namespace llmcalc {

/// The parts whose table options each subcommand accepts.
inline constexpr Parts plan_train_parts = part::training | part::step | part::model_flops | part::time | part::run |
                                          part::hardware | part::styles | part::pictures | part::full | part::records |
                                          part::launch;
inline constexpr Parts plan_serve_parts = part::inference | part::fit | part::serving | part::time | part::hardware |
                                          part::styles | part::full | part::records | part::launch;

/// A subcommand and the texts of its help.
struct PlanKind {
  const char* word;  ///< word for the subcommand: "train"
  std::string_view name, about, examples;
  Parts parts;
  std::span<const Option> own;
};
extern const std::array<PlanKind, 2> plan_kinds;
/// The subcommand as a separate command.
Command command_of(const PlanKind& kind);

/// The best layouts for a training run.
Output plan_train(const Arguments& arguments, Runner& runner);
/// The fewest GPUs and the cheapest hardware that serve a load within limits.
Output plan_serve(const Arguments& arguments, Runner& runner);

}  // namespace llmcalc
