#pragma once
/// Runs golden cases on the engine.

#include <string>
#include <string_view>

#include "calc/plan.hpp"
#include "tests/catch.hpp"
#include "tests/golden_values/golden_rows.hpp"

namespace llmcalc::test {

inline std::string digits(Int128 n) {
  std::string s;
  do s.insert(s.begin(), static_cast<char>('0' + static_cast<int>(n % 10)));
  while ((n /= 10) != 0);
  return s;
}
inline std::string digits(Flops f) { return digits(f.value); }
inline std::string digits(Bytes b) { return std::to_string(b.value); }

/// Calls act(inputs, value) for every case of a quantity and returns the number of cases.
template <typename Act>
int each_case(std::string_view quantity, const Act& act) {
  int n = 0;
  for (const golden::Case& c : golden::all_cases()) {
    if (c.quantity != quantity) continue;
    INFO(c.id);
    act(json::Object(c.inputs, "golden case " + c.id), c.value);
    ++n;
  }
  return n;
}

/// Compares with a golden value that is not an integer.
inline void close(double got, const std::string& value) { CHECK(got == Approx(std::stod(value)).epsilon(1e-9)); }

inline Arch model(const json::Object& in) { return golden::arch(in.object("model")); }

/// A data type with p bytes per element.
inline DType bytes_wide(Count p) {
  return p == 1 ? dtypes::fp8 : p == 2 ? dtypes::bf16 : p == 4 ? dtypes::fp32 : *dtype("fp64");
}

inline AttentionFlops convention(const json::Object& in, std::string_view key) {
  return golden::choice<AttentionFlops>(in, key,
                                        {{"full", AttentionFlops::full},
                                         {"causal_half", AttentionFlops::causal_half},
                                         {"causal_exact", AttentionFlops::causal_exact}});
}

}  // namespace llmcalc::test
