#pragma once
/// Small models whose layers differ, and recurrences of every kind.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

Recurrent short_convolution();
/// chunk: tokens that are taken at once; 0: one.
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
