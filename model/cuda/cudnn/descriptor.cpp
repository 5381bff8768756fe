#include "model/cuda/cudnn/descriptor.hpp"

#include <utility>

namespace llmcalc::model::cuda::cudnn {

Descriptor::Descriptor(cudnnBackendDescriptorType_t kind, const char* what) : what_(what) {
  check(library().create_descriptor(kind, &raw_), what_);
}
Descriptor::~Descriptor() {
  if (raw_ != nullptr) library().destroy_descriptor(raw_);
}
Descriptor::Descriptor(Descriptor&& from) noexcept : what_(from.what_), raw_(std::exchange(from.raw_, nullptr)) {}
Descriptor& Descriptor::operator=(Descriptor&& from) noexcept {
  std::swap(what_, from.what_);
  std::swap(raw_, from.raw_);
  return *this;
}

void Descriptor::set_as(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                        const void* values) {
  check(library().set(raw_, name, type, count, values), what_);
}
void Descriptor::finalize() { check(library().finalize(raw_), what_); }

std::int64_t Descriptor::number(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0, count = 0;
  check(library().get(raw_, name, CUDNN_TYPE_INT64, 1, &count, &value), what_);
  return value;
}

std::int64_t Descriptor::descriptors(cudnnBackendAttributeName_t name, std::int64_t count,
                                     cudnnBackendDescriptor_t* to) const {
  std::int64_t there = 0;
  check(library().get(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &there, to), what_);
  return there;
}

}  // namespace llmcalc::model::cuda::cudnn
