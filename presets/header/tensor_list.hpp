#pragma once
/// A checkpoint's tensors. A mixture of experts can have 10^6 tensors, so names are stored in large blocks, and tensors
/// that differ only in the expert's number share all other properties.

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calc/formats/dtype.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// Tensors of the same format and shape whose names differ only in numbers after the first number, such as the up
/// projections of a layer's experts. All of them belong to the same part of a model.
struct TensorType {
  std::size_t index = 0;         ///< unique in the checkpoint
  std::string format;            ///< name in the file: "BF16", "Q4_K"
  std::optional<DType> dtype{};  ///< number format; absent for integer types, which hold packed values or no weights
  std::vector<Count> shape{};    ///< longest stride first: (out, in) for a matrix
  Count numbers = 1;             ///< number of elements of each tensor
  Bytes bytes{};                 ///< bytes of each tensor
};

struct CheckpointTensor {
  std::string_view name;
  const TensorType* type = nullptr;
  std::uint64_t offset = 0;  ///< offset in bytes from the start of the file's data
};

/// The tensors of one type: the first in the checkpoint's order, and their number.
struct TensorsOfType {
  const CheckpointTensor* first = nullptr;
  Count tensors = 0;
};

class TensorList {
 public:
  /// Adds a tensor and copies its name. If it is the first of its type, `describe` sets the type's number format,
  /// elements and bytes. The list is unchanged if `describe` throws.
  template <typename Describe>
  const CheckpointTensor& add(std::string_view name, std::string_view format, std::span<const Count> shape,
                              std::uint64_t offset, const Describe& describe) {
    const TensorType* type = find(name, format, shape);
    if (type == nullptr) {
      TensorType one{.index = types_.size(), .format = std::string(format), .shape = {shape.begin(), shape.end()}};
      describe(one);
      type = &types_.emplace(key_, std::move(one)).first->second;
    }
    return all_.emplace_back(CheckpointTensor{kept(name), type, offset});
  }
  /// Allocates memory for `more` additional tensors.
  void reserve(std::size_t more) { all_.reserve(all_.size() + more); }
  /// Removes all tensors after the first `size`.
  void truncate(std::size_t size) { all_.resize(size); }
  void clear() { truncate(0); }

  /// Sorts the tensors from index `first` on by their offsets. An empty tensor precedes others at the same offset.
  void sort_by_offset(std::size_t first);
  /// The tensors from index `first` on.
  std::span<const CheckpointTensor> from(std::size_t first) const { return std::span(all_).subspan(first); }
  /// Whether two of the names from index `first` on may be equal, judging by hashes.
  bool may_repeat(std::size_t first) const;
  /// The tensors by type, in the order of the first tensor of each type.
  std::vector<TensorsOfType> by_type() const;
  /// Number of types. Each type's index is below this number.
  std::size_t types() const { return types_.size(); }

  std::size_t size() const { return all_.size(); }
  const CheckpointTensor& operator[](std::size_t i) const { return all_[i]; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  const TensorType* find(std::string_view name, std::string_view format, std::span<const Count> shape);
  std::string_view kept(std::string_view name);

  std::vector<CheckpointTensor> all_;
  std::unordered_map<std::string, TensorType> types_;
  std::unique_ptr<std::pmr::monotonic_buffer_resource> names_ =
      std::make_unique<std::pmr::monotonic_buffer_resource>(std::size_t{1} << 16U);
  std::string key_;  ///< key in types_ of the tensor that was last searched
};

}  // namespace llmcalc
