#pragma once
/// Rates that a device achieves, derived from operator tables: values for a hardware file, each derived from many
/// rows, and the accuracy of predictions with them.
///
/// A kernel takes t = launch + max(C, M) + exposed min(C, M), with C = FLOPs / (matmul peak) and M = bytes / (memory
/// bandwidth), both counted by the cost model. Each value comes from the rows that it dominates. It is the median of
/// the tables' medians, which gives all tables equal weight. Tables with fewer than `fewest_rows` such rows are not
/// used.
///
///   launch      norms, activations and rotations of so few tokens that their bytes take less than 5 % of the time
///   memory      matmuls of up to 16 tokens whose weights exceed the device's cache
///   matmul      matmuls that would take at least 20 launch times at peak rate and whose compute time is at least
///               twice their memory time
///   exposed     matmuls whose compute time is between a third of and twice their memory time
///   attention   prompt chunks that would take at least 20 launch times at peak rate: FLOPs of the causal pairs /
///               (t - launch)
///   cache       norms, activations and rotations of at least two launch times whose tensors fit into the cache
///
/// memory, matmul and exposed depend on each other and are solved iteratively. half_matmul (FLOPs at which a matmul
/// reaches half its rate) is not derived: in rows with few tokens, matmuls of all sizes are memory-bound.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calc/device.hpp"
#include "evidence/profile/table_subject.hpp"
#include "evidence/profile/table_work.hpp"
#include "text/json.hpp"

namespace llmcalc {

inline constexpr std::size_t fewest_rows = 5;

/// A derived value, the number of rows used, and the lowest and highest of the tables' medians.
struct DerivedNumber {
  enum class Kind : std::uint8_t { share, seconds, bytes_per_second, flops_per_second } kind = Kind::share;
  std::string key;  ///< key in a hardware file: "matmul.bf16"
  std::string title;
  double value = 0, low = 0, high = 0;
  std::size_t rows = 0, tables = 0;
  bool in_file = true;  ///< whether hardware files have a key for the value
};

/// Predicted / measured for a layer's rows in a table: medians over all rows and by token count.
struct LayerResidual {
  std::size_t table = 0;
  std::string layer;
  std::size_t rows = 0;
  double median = 1;
  static constexpr std::array<Count, 2> up_to{16,
                                              256};  ///< token limits of the first two sizes; the third is unlimited
  std::array<std::optional<double>, up_to.size() + 1> by_size{};
};

struct OperatorRates {
  Achieved achieved;
  std::vector<DerivedNumber> numbers;
  std::vector<LayerResidual> residuals;
  std::vector<std::string> notes;  ///< sentences on values that could not be derived or were clamped
};

/// Derives the rates of a device from the rows of its tables. `recorded`: the kernels were launched from captured
/// graphs. Throws InputError if no launch overhead can be derived.
OperatorRates operator_rates(const std::vector<TimedRow>& rows, const std::vector<TableSubject>& subjects,
                             const Device& device, bool recorded);

/// Value of "achieved" for a hardware file: the derived values, rounded to four digits.
json::Value achieved_json(const OperatorRates& rates, const std::string& how);

}  // namespace llmcalc
