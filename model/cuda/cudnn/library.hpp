#pragma once
/// cuDNN's functions, from a library that is opened at run time: a program runs where it is missing.

#include <cudnn_graph.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace llmcalc::model::cuda::cudnn {

/// What cuDNN, or the lack of it, answered: `status` is CUDNN_STATUS_NOT_INITIALIZED where there is no library.
struct Error : std::runtime_error {
  Error(cudnnStatus_t s, const std::string& what) : std::runtime_error(what), status(s) {}
  cudnnStatus_t status;
};

struct Library {
  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetErrorString) error = nullptr;
  decltype(&cudnnGetLastErrorString) last_error = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  /// "9.19.0"
  std::string version_text() const;
};

/// Opened by the first call that finds it, where it lay when this was built or where the system looks; never closed.
/// Throws Error: not found, too old or not whole, in a sentence.
const Library& library();

/// Throws Error: what failed and what cuDNN says of it.
void check(cudnnStatus_t status, const char* what);

}  // namespace llmcalc::model::cuda::cudnn
