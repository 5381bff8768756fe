#include "model/cuda/cudnn/graph.hpp"

namespace llmcalc::model::cuda::cudnn {
namespace {

constexpr const char* building = "describing an operation";

Descriptor pointwise_of(cudnnPointwiseMode_t mode) {
  Descriptor d(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, building);
  const bool compares = mode == CUDNN_POINTWISE_CMP_GE;
  d.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  d.set(CUDNN_ATTR_POINTWISE_MATH_PREC, compares ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT);
  return d;
}

}  // namespace

Sizes packed(const Sizes& s) { return {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}; }

Graph::Tensor Graph::described(std::int64_t id, const Sizes& size, const Sizes& stride, cudnnDataType_t type,
                               bool is_virtual, bool by_value) {
  constexpr std::int64_t alignment = 16;  // bytes
  Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR, "describing a tensor");
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, 4, size.data());
  d.set(CUDNN_ATTR_TENSOR_STRIDES, 4, stride.data());
  d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value);
  d.finalize();
  const Tensor made{d.raw(), size};
  parts_.push_back(std::move(d));
  return made;
}

Graph::Tensor Graph::tensor(std::int64_t id, const Sizes& size, const Sizes& stride, cudnnDataType_t type) {
  return described(id, size, stride, type, false, false);
}
Graph::Tensor Graph::scalar(std::int64_t id) {
  return described(id, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, false, true);
}
Graph::Tensor Graph::passing(const Sizes& size, cudnnDataType_t type) { return passing(size, packed(size), type); }
Graph::Tensor Graph::passing(const Sizes& size, const Sizes& stride, cudnnDataType_t type) {
  return described(next_++, size, stride, type, true, false);
}

Graph::Tensor Graph::matmul(const Tensor& a, const Tensor& b, const Tensor& to) {
  Descriptor how(CUDNN_BACKEND_MATMUL_DESCRIPTOR, building);
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  how.finalize();
  Descriptor d(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, building);
  d.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
  d.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
  d.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, to.descriptor);
  d.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how.raw());
  d.finalize();
  parts_.push_back(std::move(how));
  operations_.push_back(std::move(d));
  return to;
}

Graph::Tensor Graph::pointwise(Descriptor how, std::initializer_list<Tensor> in, const Tensor& to) {
  constexpr std::array inputs{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                              CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  how.finalize();
  Descriptor d(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, building);
  d.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how.raw());
  std::size_t i = 0;
  for (const Tensor& x : in) d.set(inputs.at(i++), x.descriptor);
  d.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to.descriptor);
  d.finalize();
  parts_.push_back(std::move(how));
  operations_.push_back(std::move(d));
  return to;
}
Graph::Tensor Graph::pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> in, const Tensor& to) {
  return pointwise(pointwise_of(mode), in, to);
}
Graph::Tensor Graph::index(const Tensor& x, std::int64_t axis) {
  Descriptor how = pointwise_of(CUDNN_POINTWISE_GEN_INDEX);
  how.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  return pointwise(std::move(how), {x}, passing(x.size, CUDNN_DATA_INT32));
}

Graph::Tensor Graph::reduce(cudnnReduceTensorOp_t operation, const Tensor& x, const Tensor& to) {
  Descriptor how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, building);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, operation);
  how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  how.finalize();
  Descriptor d(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, building);
  d.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
  d.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, to.descriptor);
  d.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how.raw());
  d.finalize();
  parts_.push_back(std::move(how));
  operations_.push_back(std::move(d));
  return to;
}

Graph::Tensor Graph::reshape(const Tensor& x, const Tensor& to) {
  Descriptor d(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, building);
  d.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
  d.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, to.descriptor);
  d.finalize();
  operations_.push_back(std::move(d));
  return to;
}

Descriptor Graph::finalized(cudnnHandle_t handle) const {
  std::vector<cudnnBackendDescriptor_t> all;
  for (const Descriptor& d : operations_) all.push_back(d.raw());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "joining the operations");
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, static_cast<std::int64_t>(all.size()), all.data());
  graph.finalize();
  return graph;
}

}  // namespace llmcalc::model::cuda::cudnn
