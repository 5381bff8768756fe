#pragma once
/// Optimizers and their state, one row per optimizer. Memory, traffic, reports and the transformer derive from these
/// rows.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "calc/choice.hpp"
#include "calc/units.hpp"

namespace llmcalc {

enum class Optimizer : std::uint8_t { adam, momentum, sgd, lion, adafactor, muon, adam8bit };

/// Storage of an optimizer's moments.
enum class MomentStorage : std::uint8_t {
  plain,    ///< stored in Plan::state_precision
  coded,    ///< one byte per moment, plus a float32 scale per block
  factored  ///< float32: one per row and one per column of a matrix, one per element of a vector
};

/// Number of elements that share a scale of quantized moments.
inline constexpr Count coded_block = 256;

struct OptimizerTraits {
  Optimizer optimizer = Optimizer::adam;
  std::string_view name, alias;  ///< alias: alternative spelling, or empty
  Count moments = 0;             ///< number of moments per trained element that is updated element-wise
  Count matrix_moments = 0;      ///< number of moments per element of a matrix that is updated as a whole
  MomentStorage storage = MomentStorage::plain;
  bool orthogonalizes = false;  ///< whether Newton-Schulz iterations orthogonalize matrices (calc/training/muon.hpp)

  constexpr bool updates_matrices() const { return orthogonalizes || storage == MomentStorage::factored; }
};

// clang-format off
inline constexpr std::array optimizers{
    OptimizerTraits{Optimizer::adam,      "adam",      "adamw",     2, 2},                          // Goon (2.1), (2.3)
    OptimizerTraits{Optimizer::momentum,  "momentum",  "",          1, 1},
    OptimizerTraits{Optimizer::sgd,       "sgd",       "",          0, 0},
    OptimizerTraits{Optimizer::lion,      "lion",      "",          1, 1},                          // arXiv:2302.06675
    OptimizerTraits{Optimizer::adafactor, "adafactor", "",          1, 0, MomentStorage::factored},       // arXiv:1804.04235, without momentum
    OptimizerTraits{Optimizer::muon,      "muon",      "",          2, 1, MomentStorage::plain, true},    // arXiv:2502.16982, 2.3
    OptimizerTraits{Optimizer::adam8bit,  "adam8bit",  "adamw8bit", 2, 2, MomentStorage::coded},          // arXiv:2110.02861
};
// clang-format on

constexpr const OptimizerTraits& traits(Optimizer optimizer) { return optimizers[static_cast<std::size_t>(optimizer)]; }
static_assert(std::all_of(optimizers.begin(), optimizers.end(),
                          [](const OptimizerTraits& t) { return &traits(t.optimizer) == &t; }));

/// Bytes of quantized moments of n consecutive elements.
constexpr Bytes coded_moment_bytes(const OptimizerTraits& t, Count n) {
  return Bytes(mul(t.moments, add(n, mul(4, ceil_div(n, coded_block)))));
}

namespace detail {
constexpr std::size_t optimizer_names = [] {
  std::size_t n = 0;
  for (const OptimizerTraits& t : optimizers) n += t.alias.empty() ? 1 : 2;
  return n;
}();
}  // namespace detail

template <>
inline constexpr auto choices<Optimizer> = [] {
  std::array<Choice<Optimizer>, detail::optimizer_names> all{};
  std::size_t at = 0;
  for (const OptimizerTraits& t : optimizers) {
    all[at++] = {t.optimizer, t.name};
    if (!t.alias.empty()) all[at++] = {t.optimizer, t.alias};
  }
  return all;
}();

}  // namespace llmcalc
