#pragma once
/// A list of values that occupies no memory per value while all values are equal.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace llmcalc {

template <typename T>
class CompactColumn {
 public:
  CompactColumn() = default;
  CompactColumn(std::size_t n, T common) : common_(common), size_(n) {}

  std::size_t size() const { return size_; }
  T operator[](std::size_t i) const { return values_.empty() ? common_ : values_[i]; }
  /// Prepares for `n` values in total.
  void reserve(std::size_t n) { expected_ = n; }
  void push_back(T value) {
    if (size_ == 0) common_ = value;
    if (values_.empty() && value != common_) store_each();
    if (!values_.empty()) values_.push_back(value);
    ++size_;
  }
  void set(std::size_t i, T value) {
    if (values_.empty() && value == common_) return;
    if (values_.empty()) store_each();
    values_[i] = value;
  }
  /// Drops all but the first `n` values.
  void keep_first(std::size_t n) {
    size_ = n;
    if (!values_.empty()) values_.resize(n);
  }

 private:
  void store_each() {
    values_.reserve(std::max(expected_, size_ + 1));
    values_.assign(size_, common_);
  }

  T common_{};
  std::size_t size_ = 0, expected_ = 0;
  std::vector<T> values_;  ///< empty while all values are equal to `common_`
};

}  // namespace llmcalc
