#pragma once
/// Flash attention by the cores that are faster than the plain one, on a device of any kind.

#include "model/cuda/core_choice.hpp"
#include "model/cuda/sdpa.hpp"

namespace llmcalc::model::cuda {

/// cuDNN's, where the device has it. It has heads of up to 256 numbers forward; backward it is asked for up to 128.
template <typename Device>
CoreAnswer by_cudnn(Device& device, const Attention& s, const AttentionInputs& in, const Dropout& d, Bytes number,
                    const Sdpa& call) {
  if constexpr (requires { device.sdpa(call); }) {
    const std::string why = sdpa_obstacle(s, in, d, call, number, call.shape.backward ? 128 : 256);
    return why.empty() ? device.sdpa(call) : CoreAnswer{false, why};
  }
  return {false, "this device has none"};
}

/// False: none can, or none was asked, and the plain core must. `number`: bytes of a number; mma(): asks tensor cores
/// by own kernels, which also take a prompt that goes on.
template <typename Device, typename Mma>
bool by_faster_core(Device& device, CoreChoice& cores, const Attention& s, const AttentionInputs& in, const Dropout& d,
                    Bytes number, const Sdpa& call, const Mma& mma) {
  if (!is_sdpa(s)) return cores.may(AttentionCore::mma) && mma().done;
  cores.begin(call.shape.backward);
  if (cores.done_by(AttentionCore::cudnn, [&] { return by_cudnn(device, s, in, d, number, call); })) return true;
  if (cores.done_by(AttentionCore::mma, mma)) return true;
  cores.last();
  return false;
}

}  // namespace llmcalc::model::cuda
