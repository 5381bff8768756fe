#pragma once
/// Quantities with an explanation, one row each. To add one, add a row to a table in this folder.

#include <algorithm>
#include <span>
#include <string_view>

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"
#include "report/explain/symbols.hpp"

namespace llmcalc::explain {

struct Definition {
  std::string_view path;   ///< path in JSON: "memory.activations_bytes"
  std::string_view title;  ///< a short name
  std::string_view unit;   ///< unit of the value: "bytes", "FLOP", "s"
  Formula (*formula)(const Setting&) = nullptr;
  std::string_view convention = {};  ///< which parts the quantity includes and excludes
  std::string_view source = {};
  std::string_view wants = {};    ///< options or kind of model that the quantity requires, if the report may lack it
  std::string_view verdict = {};  ///< how a verdict in words follows from the number; empty: no verdict

  std::string_view section() const { return path.substr(0, path.find('.')); }
  Subject about() const;
  bool hardware() const;  ///< whether the quantity requires hardware
};

/// Text of a formula that is the same in every setting, as a template argument: fixed<"p_g*N_T">.
template <std::size_t N>
struct Letters {
  char text[N];
  constexpr Letters(const char (&letters)[N]) { std::copy_n(letters, N, text); }  // NOLINT: implicit, fixed<"...">
};
template <Letters letters>
Formula fixed(const Setting&) {
  return {letters.text};
}

/// A report row as a symbol of a formula.
Symbol as_symbol(const Setting& s, const char* name, const char* meaning, const std::string& path);
/// A formula for a number that has no short form, because the engine computes it by a recurrence over slots, layers
/// or stages.
Formula from_engine(const Setting& s, const char* name, const char* meaning, const std::string& path);

/// Conventions shared by several tables.
inline constexpr std::string_view per_gpu = "on the most loaded GPU";
inline constexpr std::string_view slowest = "the largest of compute, memory, communication, latency";

std::span<const Definition> parameter_definitions();
std::span<const Definition> flops_definitions();
std::span<const Definition> formula_definitions();
std::span<const Definition> training_memory_definitions();
std::span<const Definition> process_definitions();
std::span<const Definition> pipeline_definitions();
std::span<const Definition> activation_definitions();
std::span<const Definition> inference_memory_definitions();
std::span<const Definition> step_definitions();
std::span<const Definition> sensitivity_definitions();
std::span<const Definition> utilization_definitions();
std::span<const Definition> run_definitions();
std::span<const Definition> pass_definitions();
std::span<const Definition> power_definitions();
std::span<const Definition> spent_definitions();
std::span<const Definition> limit_definitions();
std::span<const Definition> target_definitions();
std::span<const Definition> step_target_definitions();
std::span<const Definition> serving_definitions();
std::span<const Definition> served_definitions();

/// All definitions, in the order of a report.
const std::vector<Definition>& definitions();

}  // namespace llmcalc::explain
