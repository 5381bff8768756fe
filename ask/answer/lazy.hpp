#pragma once
/// A value that is computed once, on first use.

#include <optional>

namespace llmcalc {

template <typename T>
class Lazy {
 public:
  Lazy() = default;
  explicit Lazy(T known) : value_(std::move(known)) {}

  template <typename Compute>
  const T& get(const Compute& compute) const {
    if (!value_) value_.emplace(compute());
    return *value_;
  }

 private:
  mutable std::optional<T> value_;
};

}  // namespace llmcalc
