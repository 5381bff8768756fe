#pragma once
/// Context parallelism as a pass over operators: each of c ranks holds S/c tokens of every sequence of S tokens, and
/// all weights.
///
/// Operators on single tokens are sharded by rows. Only attention's core sees the tokens of other ranks:
///   ring        (arXiv:2310.01889) keys and values pass from rank to rank, and once more in backward; their gradients
///               travel with them and return to their own rank. A rank holds one arriving block in addition to its own
///               (Held::scratch of the core). Messages overlap with the core (RingTime in calc/step/row_time.hpp).
///   all-gather  (Llama 3, arXiv:2407.21783) every rank gathers all keys and values, once more in backward, and
///               reduce-scatters their gradients. The gathered tensor is an ordinary result.
///   Ulysses     (DeepSpeed, arXiv:2309.14509) one all-to-all converts q, k and v from all heads and some tokens to
///               some heads and all tokens; another converts the output back; backward does the same. KV heads are
///               replicated if there are fewer of them than ranks.
/// For ring and all-gather a sequence is split into 2 c equal pieces, and rank i has pieces i and 2 c - 1 - i, which
/// gives all ranks the same number of causal pairs (Llama 3, 3.3.2). Under every convention, a core's FLOPs are the
/// total of all ranks divided by c. A window does not change the messages, although a ring could skip blocks that no
/// query sees. With a window, ranks have different numbers of pairs, because the first tokens of a sequence see fewer
/// keys; FLOPs are then the mean, rounded up.
///
/// Latent attention sends expanded keys and values, with the shared key repeated in every head, or latent rows if
/// absorbed. Not counted: sums of a ring's partial results. Training only; linear attention is rejected (flaw()).

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// The operators of one context-parallel rank. Apply after split_tensor(); layout.cp > 1.
OpList split_context(const OpList& ops, const Layout& layout);

}  // namespace llmcalc
