#pragma once
/// One row per golden quantity: the function that reads its inputs and computes the textbook value.

#include <span>
#include <string_view>

#include "calc/arch.hpp"
#include "tests/golden_values/golden.hpp"
#include "text/json.hpp"

namespace llmcalc::golden {

struct Row {
  std::string_view quantity;
  Number (*value)(const json::Object& inputs);
};
std::span<const Row> model_rows();     ///< parameters and FLOPs
std::span<const Row> memory_rows();    ///< states, activations, cache, quantized weights
std::span<const Row> time_rows();      ///< rooflines, inference, training runs
std::span<const Row> parallel_rows();  ///< collectives, traffic, pipelines

/// A golden "model" object as an Arch.
Arch arch(const json::Object& model);

/// A number that may be fractional. Throws InputError if the key is missing.
double real(const json::Object& in, std::string_view key);
/// The enum value named by the input. Throws InputError for an unknown name.
template <typename Enum, std::size_t size>
Enum choice(const json::Object& in, std::string_view key, const std::pair<std::string_view, Enum> (&names)[size]) {
  const std::string given = in.text(key);
  for (const auto& [name, value] : names)
    if (name == given) return value;
  throw InputError(in.where() + ": \"" + given + "\" is no known value of \"" + std::string(key) + "\"");
}

inline Number whole(Count n) { return textbook::Fraction(n); }
inline Number whole(Bytes b) { return textbook::Fraction(b.value); }
inline Number whole(Flops f) { return textbook::Fraction(textbook::Exact(f), 1); }

}  // namespace llmcalc::golden
