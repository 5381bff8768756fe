#pragma once
/// Attention kernel of a training run.

#include <array>
#include <string>

#include "calc/choice.hpp"

namespace llmcalc {

enum class AttentionKernel {
  unfused,        ///< scores are stored in memory; mask and softmax are separate kernels
  fused_softmax,  ///< scores are stored in memory; mask and softmax are one kernel
  flash_1,        ///< FlashAttention 1, xformers
  flash_2,
  vendor,  ///< cuDNN, TransformerEngine, FlashAttention 3
  flash    ///< a flash kernel of unstated version
};
template <>
inline constexpr auto choices<AttentionKernel> =
    std::array{Choice{AttentionKernel::unfused, "unfused"}, Choice{AttentionKernel::fused_softmax, "fused-softmax"},
               Choice{AttentionKernel::flash_1, "flash-1"}, Choice{AttentionKernel::flash_2, "flash-2"},
               Choice{AttentionKernel::vendor, "vendor"},   Choice{AttentionKernel::flash, "flash"}};

struct AttentionSaid {
  AttentionKernel kernel = AttentionKernel::flash;
  bool stated = true;
  bool fused_norm = false;  ///< whether the row states that RMSNorm is one kernel
  std::string assumed{};    ///< the assumption as a sentence, if the row's wording is unknown
};

}  // namespace llmcalc
