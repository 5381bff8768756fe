#pragma once
/// Handles issued by the stand-in. Each refers to an object of one type until it is destroyed.

#include <map>
#include <memory>
#include <string>

#include "tests/standin/rules.hpp"

namespace llmcalc::standin {

/// Handles of one type: addresses of objects. `what` names them in messages.
template <typename X>
class Handles {
 public:
  explicit Handles(std::string what) : what_(std::move(what)) {}

  template <typename Handle>
  void make(Handle* to, X x) {
    auto made = std::make_unique<X>(std::move(x));
    *to = reinterpret_cast<Handle>(made.get());
    all_[made.get()] = std::move(made);
  }
  X& of(const void* handle) {
    const auto at = all_.find(handle);
    require(at != all_.end(), "a call is given no live " + what_);
    return *at->second;
  }
  void destroy(const void* handle) {
    of(handle);
    all_.erase(handle);
  }
  void require_none() const {
    require(all_.empty(), std::to_string(all_.size()) + " of " + what_ + " are never destroyed");
  }

 private:
  std::string what_;
  std::map<const void*, std::unique_ptr<X>> all_;
};

/// The runtime's only stream. Breaks a rule if the handle is not this stream.
class Stream;
Stream& stream_of(const void* handle);

/// Requires that every handle has been destroyed.
void require_no_handles();          ///< handles of the runtime
void require_no_product_handles();  ///< handles of cuBLASLt

}  // namespace llmcalc::standin
