#pragma once
/// Attention by cuDNN on one stream. Nothing here throws for what cuDNN lacks or refuses: it says so in a sentence.

#include <memory>
#include <string>

#include "model/cuda/sdpa.hpp"

namespace llmcalc::model::cuda {

class CudnnAttention {
 public:
  /// On the current device; `stream` is a cudaStream_t.
  explicit CudnnAttention(void* stream);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// "cuDNN 9.19.0"
  const std::string& name() const { return name_; }
  /// Has a plan made for a shape, which takes seconds the first time. Why there is none; empty: there is.
  std::string prepare(const SdpaShape& s);
  /// Bytes that a prepared shape needs.
  SdpaRoom room(const SdpaShape& s) const;
  /// Of a prepared shape. Statistics are in the scratch memory: backward reads them there, forward leaves them there.
  /// Why it failed; empty: it is on its way.
  std::string run(const Sdpa& a, const SdpaScratch& scratch);

 private:
  struct Plans;
  std::string name_, missing_;
  std::unique_ptr<Plans> plans_;
};

}  // namespace llmcalc::model::cuda
