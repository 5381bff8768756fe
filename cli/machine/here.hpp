#pragma once
/// Description of this machine: the hardware preset of its GPU or processor, and a greeting with five questions.

#include <optional>
#include <string>

#include "cli/machine/machine.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The preset of the GPU or, without one, of the processor; absent if neither has a preset.
std::optional<std::string> preset_here(const Machine& m);

/// The machine's devices and memory: "2 x RTX 4090 (24.00 GiB), AMD Ryzen 9 7950X, 32 threads, 62.7 GiB of memory".
std::string machine_text(const Machine& m);

/// The machine, and five questions with the command that answers each.
std::string greeting(const Machine& m);

/// The report of 'llmcalc list hardware --here'.
Report machine_report(const Machine& m);

/// The preset for commands without --hardware. Throws InputError if no preset has the machine's GPU or processor.
std::string required_preset_here(const Machine& m);

}  // namespace llmcalc
