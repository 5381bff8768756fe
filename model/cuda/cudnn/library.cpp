#include "model/cuda/cudnn/library.hpp"

#include <dlfcn.h>

#include <array>

namespace llmcalc::model::cuda::cudnn {
namespace {

/// Older ones read past the end of sequences that are not multiples of 128 in attention's gradient.
constexpr std::size_t oldest = 91501;

std::string text(std::size_t version) {  // 9.19.0 is 91900
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

#ifndef LLMCALC_CUDNN_LIBRARY
#define LLMCALC_CUDNN_LIBRARY "libcudnn.so.9"
#endif

void* opened() {
  for (const char* const name : {LLMCALC_CUDNN_LIBRARY, "libcudnn.so.9"})
    if (void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  throw Error(CUDNN_STATUS_NOT_INITIALIZED, std::string("cuDNN not found: ") + ::dlerror());
}

template <typename F>
void find(void* handle, const char* name, F& f) {
  f = reinterpret_cast<F>(::dlsym(handle, name));
  if (f == nullptr) throw Error(CUDNN_STATUS_NOT_INITIALIZED, std::string("libcudnn.so.9 has no ") + name);
}

Library loaded() {
  void* const handle = opened();
  Library l;
  find(handle, "cudnnGetVersion", l.version);
  find(handle, "cudnnGetErrorString", l.error);
  find(handle, "cudnnGetLastErrorString", l.last_error);
  find(handle, "cudnnCreate", l.create);
  find(handle, "cudnnDestroy", l.destroy);
  find(handle, "cudnnSetStream", l.set_stream);
  find(handle, "cudnnBackendCreateDescriptor", l.create_descriptor);
  find(handle, "cudnnBackendDestroyDescriptor", l.destroy_descriptor);
  find(handle, "cudnnBackendSetAttribute", l.set);
  find(handle, "cudnnBackendGetAttribute", l.get);
  find(handle, "cudnnBackendFinalize", l.finalize);
  find(handle, "cudnnBackendExecute", l.execute);
  if (l.version() < oldest)
    throw Error(CUDNN_STATUS_NOT_INITIALIZED,
                "cuDNN " + text(l.version()) + " is too old; expected " + text(oldest) + " or later");
  return l;
}

}  // namespace

std::string Library::version_text() const { return text(version()); }

const Library& library() {
  static const Library only = loaded();
  return only;
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 1024> why{};
  library().last_error(why.data(), why.size() - 1);
  throw Error(status, std::string("cuDNN, ") + what + ": " + library().error(status) + ", " + why.data());
}

}  // namespace llmcalc::model::cuda::cudnn
