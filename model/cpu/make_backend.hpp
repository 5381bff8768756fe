#pragma once
/// Backends by element type.

#include <memory>

#include "model/backend.hpp"
#include "model/math/numbers.hpp"

namespace llmcalc::model {

template <typename T>
std::unique_ptr<Backend> make_backend(bool poison);
template <>
std::unique_ptr<Backend> make_backend<float>(bool poison);
template <>
std::unique_ptr<Backend> make_backend<bf16>(bool poison);
template <>
std::unique_ptr<Backend> make_backend<fp16>(bool poison);
template <>
std::unique_ptr<Backend> make_backend<double>(bool poison);
template <>
std::unique_ptr<Backend> make_backend<Counted>(bool poison);

}  // namespace llmcalc::model
