#pragma once
/// One of cuDNN's descriptors: made, told its attributes, finalized, and destroyed with its owner.

#include "model/cuda/cudnn/library.hpp"

namespace llmcalc::model::cuda::cudnn {

/// cuDNN's name of a C++ type.
template <typename X>
struct TypeName;
template <cudnnBackendAttributeType_t name>
struct Named {
  static constexpr cudnnBackendAttributeType_t value = name;
};
template <>
struct TypeName<cudnnBackendDescriptor_t> : Named<CUDNN_TYPE_BACKEND_DESCRIPTOR> {};
template <>
struct TypeName<cudnnHandle_t> : Named<CUDNN_TYPE_HANDLE> {};
template <>
struct TypeName<cudnnDataType_t> : Named<CUDNN_TYPE_DATA_TYPE> {};
template <>
struct TypeName<bool> : Named<CUDNN_TYPE_BOOLEAN> {};
template <>
struct TypeName<std::int64_t> : Named<CUDNN_TYPE_INT64> {};
template <>
struct TypeName<char> : Named<CUDNN_TYPE_CHAR> {};
template <>
struct TypeName<cudnnPointwiseMode_t> : Named<CUDNN_TYPE_POINTWISE_MODE> {};
template <>
struct TypeName<cudnnReduceTensorOp_t> : Named<CUDNN_TYPE_REDUCTION_OPERATOR_TYPE> {};
template <>
struct TypeName<cudnnBackendHeurMode_t> : Named<CUDNN_TYPE_HEUR_MODE> {};

class Descriptor {
 public:
  /// `what`: what it is made for, in errors; a literal.
  Descriptor(cudnnBackendDescriptorType_t kind, const char* what);
  ~Descriptor();
  Descriptor(Descriptor&& from) noexcept;
  Descriptor& operator=(Descriptor&& from) noexcept;

  cudnnBackendDescriptor_t raw() const { return raw_; }

  template <typename X>
  void set(cudnnBackendAttributeName_t name, const X& value) {
    set(name, 1, &value);
  }
  template <typename X>
  void set(cudnnBackendAttributeName_t name, std::int64_t count, const X* values) {
    set_as(name, TypeName<X>::value, count, values);
  }
  void set_as(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
              const void* values);
  void finalize();

  std::int64_t number(cudnnBackendAttributeName_t name) const;
  /// Fills descriptors that were made, up to count; how many there are.
  std::int64_t descriptors(cudnnBackendAttributeName_t name, std::int64_t count, cudnnBackendDescriptor_t* to) const;

 private:
  const char* what_;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace llmcalc::model::cuda::cudnn
