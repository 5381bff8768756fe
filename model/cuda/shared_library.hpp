#pragma once
/// A library that is opened while the program runs, and may be missing.

#include <dlfcn.h>

#include <string>
#include <vector>

namespace llmcalc::model::cuda {

/// A dynamically loaded library. It is never closed, because its hooks may outlive the code that opened it.
class SharedLibrary {
 public:
  /// Opens the first of these names that can be opened; skips empty names.
  explicit SharedLibrary(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (name.empty()) continue;
      handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
      if (missing_.empty()) missing_ = ::dlerror();
    }
  }
  bool open() const { return handle_ != nullptr; }
  /// The system's error message for the first name; empty if the first name could be opened.
  const std::string& missing() const { return missing_; }
  /// Address of the symbol `name`; null if the library lacks it.
  template <typename F>
  F* find(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<F*>(::dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;
  std::string missing_;
};

}  // namespace llmcalc::model::cuda
