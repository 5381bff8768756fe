#pragma once
/// An operation graph: tensors and the operations between them, in the order in which they are written down.

#include <array>
#include <initializer_list>
#include <vector>

#include "model/cuda/cudnn/descriptor.hpp"

namespace llmcalc::model::cuda::cudnn {

/// The sizes of a tensor (sequences, heads, rows, columns).
using Sizes = std::array<std::int64_t, 4>;

/// Numbers apart where nothing lies between.
Sizes packed(const Sizes& size);

class Graph {
 public:
  /// Known to the graph that made it, for as long as that lives.
  struct Tensor {
    cudnnBackendDescriptor_t descriptor = nullptr;
    Sizes size{};
  };

  /// In memory: whoever runs the graph gives its pointer under this number, which is 1 or more.
  Tensor tensor(std::int64_t id, const Sizes& size, const Sizes& stride, cudnnDataType_t type);
  /// One float, given by a pointer to the host's.
  Tensor scalar(std::int64_t id);
  /// Between two operations, never in memory.
  Tensor passing(const Sizes& size, cudnnDataType_t type = CUDNN_DATA_FLOAT);
  Tensor passing(const Sizes& size, const Sizes& stride, cudnnDataType_t type);

  // Operations return the tensor that they write.
  Tensor matmul(const Tensor& a, const Tensor& b, const Tensor& to);
  /// Number by number; of the inputs those of size 1 are for all.
  Tensor pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> in, const Tensor& to);
  /// Every number becomes its place along an axis.
  Tensor index(const Tensor& x, std::int64_t axis);
  /// Along the axes in which `to` has size 1, or fewer heads.
  Tensor reduce(cudnnReduceTensorOp_t how, const Tensor& x, const Tensor& to);
  /// A view of the same numbers under other sizes.
  Tensor reshape(const Tensor& x, const Tensor& to);

  std::size_t operations() const { return operations_.size(); }
  /// `handle`: null where the device is only described.
  Descriptor finalized(cudnnHandle_t handle) const;

 private:
  Tensor described(std::int64_t id, const Sizes& size, const Sizes& stride, cudnnDataType_t type, bool is_virtual,
                   bool by_value);
  Tensor pointwise(Descriptor how, std::initializer_list<Tensor> in, const Tensor& to);

  std::vector<Descriptor> parts_;  ///< tensors, and what operations refer to
  std::vector<Descriptor> operations_;
  std::int64_t next_ = 1000;  ///< numbers of tensors that nobody gives a pointer for
};

}  // namespace llmcalc::model::cuda::cudnn
