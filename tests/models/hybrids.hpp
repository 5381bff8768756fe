#pragma once
/// Small models with different layers, and recurrences of every kind.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

Recurrent short_convolution();
/// chunk: tokens processed together; 0: one at a time.
Recurrent mamba2(Count chunk);
Recurrent gated_delta_net(Count chunk);
Recurrent kimi_delta(Count chunk);
Recurrent mamba();
Recurrent mamba_heads(Count chunk);
Recurrent rg_lru();
Recurrent mlstm(Count chunk);
Recurrent rwkv6(Count chunk);
Recurrent rwkv5(Count chunk);

std::vector<Variant> hybrid_variants();

}  // namespace llmcalc::test
