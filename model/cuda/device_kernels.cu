// Members of GpuDevice that launch kernels.

#include "model/cuda/device.cuh"
#include "model/cuda/pointwise.hpp"
#include "model/cuda/room.hpp"
#include "model/cuda/sdpa.hpp"

namespace llmcalc::model::cuda {

CoreAnswer GpuDevice::sdpa(const Sdpa& given) {
  Sdpa a = given;
  a.shape.deterministic = a.shape.backward && deterministic_;
  if (cudnn_ == nullptr) cudnn_ = std::make_unique<CudnnAttention>(stream_);
  std::string why_not = cudnn_->prepare(a.shape);
  if (!why_not.empty()) return {false, why_not};
  const SdpaRoom room = cudnn_->room(a.shape);
  most_sdpa_bytes_ = std::max(most_sdpa_bytes_, room.total());
  const Room<GpuDevice, std::byte> memory(*this, room.total());
  const SdpaScratch scratch(room, memory.data());
  auto* const statistics = reinterpret_cast<float*>(scratch.statistics);
  const Count rows = a.shape.rows(), tokens = a.shape.tokens, heads = a.shape.heads;
  if (a.shape.backward) everywhere(*this, rows, Turned{tokens, heads, a.log_sum_exp, statistics});
  why_not = cudnn_->run(a, scratch);
  if (!why_not.empty()) return {false, why_not};
  if (!a.shape.backward && a.log_sum_exp != nullptr)
    everywhere(*this, rows, Turned{heads, tokens, statistics, a.log_sum_exp});
  return {true, cudnn_->name()};
}

void GpuDevice::add_bias_to(const MatmulShape& s, bool is_f32, const void* bias, void* c) {
  if (is_f32)
    add_bias(*this, s.m, s.n, static_cast<const float*>(bias), static_cast<float*>(c));
  else
    add_bias(*this, s.m, s.n, static_cast<const bf16*>(bias), static_cast<bf16*>(c));
}

}  // namespace llmcalc::model::cuda
