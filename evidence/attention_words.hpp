#pragma once
/// The kernel of attention that a row of training means, and the words of it that are not known.

#include <string>

namespace llmcalc {

enum class AttentionKernel {
  unfused,        ///< scores in memory, softmax operator by operator
  fused_softmax,  ///< scores in memory, mask and softmax in one kernel
  flash_1,        ///< FlashAttention 1, xformers
  flash_2,
  vendor,  ///< cuDNN, TransformerEngine, FlashAttention 3
  flash    ///< some flash kernel
};
struct AttentionSaid {
  AttentionKernel kernel = AttentionKernel::flash;
  bool stated = true;
  bool fused_norm = false;  ///< RMSNorm is one kernel, where the row makes a point of it
  std::string assumed{};    ///< the sentence, where a word of the row is not known
};
/// What stands in parentheses is a remark, whose words need not be known. A text that names no kernel means a flash
/// kernel.
AttentionSaid attention_called(const std::string& text);

}  // namespace llmcalc
