#pragma once
/// What a device achieves, by tables of operators: the numbers of a hardware file, each from many rows, and how well
/// the tables are predicted with them.
///
/// A kernel takes t = launch + max(C, M) + exposed min(C, M), with C = FLOPs / (matmul peak) and M = bytes / (memory
/// bandwidth), FLOPs and bytes being the engine's. Each number comes from the rows that it dominates; of these the
/// median in each table, and of the tables' medians the median, so that tables count the same. A table with fewer than
/// `fewest_rows` such rows has no say.
///
///   launch      norms, activations and rotation of so few tokens that their bytes take less than 5 % of the time
///   memory      products of up to 16 tokens whose weights the device's cache does not hold
///   matmul      products of at least 20 launches at the peak, whose FLOPs take twice as long as their bytes or more
///   exposed     products whose FLOPs take between a third of and twice the time of their bytes
///   attention   chunks of prompts of at least 20 launches at the peak: FLOPs of the causal pairs / (t - launch)
///   cache       norms, activations and rotation of two launches or more whose tensors the cache holds
///
/// memory, matmul and exposed depend on each other and are found together, in rounds. A product at half its rate
/// (half_matmul) is none of them: in the rows of few tokens products run at the memory's rate, however small.

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

/// A number, the rows behind it, and the lowest and highest median of a table.
struct DerivedNumber {
  enum class Kind : std::uint8_t { share, seconds, bytes_per_second, flops_per_second } kind = Kind::share;
  std::string key;  ///< "matmul.bf16"
  std::string title;
  double value = 0, low = 0, high = 0;
  std::size_t rows = 0, tables = 0;
  bool in_file = true;  ///< false: a hardware file has no such number
};

/// Predicted / measured of a layer's rows in a table: medians, of all rows and by tokens.
struct LayerResidual {
  std::size_t table = 0;
  std::string layer;
  std::size_t rows = 0;
  double median = 1;
  static constexpr std::array<Count, 2> up_to{16, 256};  ///< tokens of the first two sizes; the third is above
  std::array<std::optional<double>, up_to.size() + 1> by_size{};
};

struct OperatorRates {
  Achieved achieved;
  std::vector<DerivedNumber> numbers;
  std::vector<LayerResidual> residuals;
  std::vector<std::string> notes;  ///< sentences: what could not be derived, or was cut
};

/// `recorded`: the tables are of kernels in captured graphs. Throws InputError where no launch can be derived.
OperatorRates operator_rates(const std::vector<TimedRow>& rows, const std::vector<TableSubject>& subjects,
                             const Device& device, bool recorded);

/// "achieved" of a hardware file: the derived numbers, to four digits.
json::Value achieved_json(const OperatorRates& rates, const std::string& how);

}  // namespace llmcalc
