#pragma once
/// A library that is opened while the program runs, which starts without it.

#include <dlfcn.h>

#include <string>
#include <vector>

namespace llmcalc::model::cuda {

/// Never closed: what it hooks into may outlive whoever opened it.
class SharedLibrary {
 public:
  /// The first of these names that can be opened; an empty one is none.
  explicit SharedLibrary(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (name.empty()) continue;
      handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
      if (missing_.empty()) missing_ = ::dlerror();
    }
  }
  bool open() const { return handle_ != nullptr; }
  /// Why the first name could not be opened, in the system's words.
  const std::string& missing() const { return missing_; }
  /// Null: the library has none of this name.
  template <typename F>
  F* find(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<F*>(::dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;
  std::string missing_;
};

}  // namespace llmcalc::model::cuda
