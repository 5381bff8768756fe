#pragma once
/// Tables of software stacks: names, versions, capabilities, and differences between two.

#include <string>

#include "report/report.hpp"

namespace llmcalc {

Grid software_grid();
/// The capabilities of every stack; a stack with versions has a row for each version that changes a capability.
Grid capabilities_grid();
/// Every version with its release date and source.
Grid versions_grid();
/// The keys in which two stacks, or two versions of one, differ: "vllm@0.10", "vllm@0.19". Throws InputError if a stack
/// or version is unknown, or if a file is invalid.
Grid software_differences(const std::string& a, const std::string& b);

}  // namespace llmcalc
