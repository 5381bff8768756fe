#pragma once
/// Version, model and layout of a running server, from the documents that it serves.

#include <span>
#include <string>
#include <string_view>

#include "evidence/bench/bench_run.hpp"

namespace llmcalc {

/// Paths of an engine's documents; a later one fills in facts that earlier ones lack. `engine` is a software
/// profile of counted_run().
std::span<const std::string_view> about_paths(std::string_view engine);

/// Adds the facts of a document to empty members of `run`. Any other text has no effect.
void add_about(BenchRun& run, const std::string& document);

}  // namespace llmcalc
