#pragma once
/// Memory of one device, the most loaded one: tensors held, and the peak of what is alive at once.

#include "calc/price.hpp"

namespace llmcalc {

struct Memory {
  Bytes weights{}, gradients{}, optimizer{};
  Bytes activations{};  ///< kept for backward, all layers
  Bytes logits{};
  Bytes kv_cache{};
  Bytes workspace{};     ///< alive at the worst moment besides the fields above
  Bytes process{};       ///< driver, libraries, kernels before any tensor; measured, 0 where it is not known
  Bytes total{};         ///< the sum of the above
  Bytes peak{};          ///< most alive at once; below total where not all is alive together
  Count parameters = 0;  ///< held by this device
};

/// Weights, gradients and optimizer state of one device.
struct States {
  Bytes weights{}, gradients{}, optimizer{};
  Count parameters = 0;
};
States training_states(const Prices& prices, const Plan& plan);
States training_states(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Memory of one optimizer step of micro-batches (micro_batch, seq).
Memory training_memory(const Prices& prices, const Plan& plan, Bytes process = {});
Memory training_memory(const Arch& arch, const Plan& plan, const Layout& layout = {}, Bytes process = {});

/// Memory of the generation of batch sequences, the cache full: prompt + generate tokens.
Memory inference_memory(const Prices& prefill, Bytes workspace_of_last, const Plan& plan, Bytes process = {});
Memory inference_memory(const Arch& arch, const Plan& plan, const Layout& layout = {}, Bytes process = {});

/// Peak bytes that an inference pass holds besides weights and cache.
Bytes pass_workspace(const Prices& pass);

/// Bytes of one device's weights in the plan's weight formats, as the priced pass (or, of a plan, inference) holds
/// them.
Bytes weights_bytes(const Prices& prices);
Bytes weights_bytes(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Whether the optimizer keeps a float32 copy of the weights: only of those in fewer bits.
bool keeps_master(const Plan& plan);

/// Optimizer bytes of n parameters, for which Adafactor keeps `factored` numbers; the float32 master copy of 16-bit
/// weights is counted here. Adam 8 (two moments), momentum and Lion 4, SGD 0, 8-bit Adam 2 and two float32
/// scales per 256. Sources: Goon (2.1), (2.3); ZeRO (arXiv:1910.02054); arXiv:2110.02861; Adafactor arXiv:1804.04235
/// without momentum.
Bytes optimizer_bytes(const Plan& plan, Count n, Count factored);

/// Cache of one sequence of `context` tokens on one device, all layers: local layers keep at most a window or chunk, KV
/// heads fewer than the ranks are replicated, MLA's latent rows always are; a linear layer keeps its float32 state.
Bytes cache_bytes(const Prices& prices, Count context);
Bytes cache_bytes(const Arch& arch, const Plan& plan, Count context, const Layout& layout = {});

/// Cache bytes of one more token while no window or chunk is full.
Bytes cache_bytes_per_token(const Prices& prices);
Bytes cache_bytes_per_token(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Prices of a single token, from which the weights and cache of a device follow.
Prices price_holdings(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Bytes that optimizer, gradients and weights move in one optimizer step: states read and written, gradients read,
/// weights written (and read, where there is no master copy).
Bytes optimizer_traffic(const States& s, const Plan& plan);

}  // namespace llmcalc
