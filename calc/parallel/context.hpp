#pragma once
/// Context parallelism as a pass over operators: every rank holds S/c tokens of every sequence of S, and weights whole.
///
/// What works on single tokens is cut in rows. Only attention's core sees the tokens of other ranks:
///   ring        (arXiv:2310.01889) keys and values pass from rank to rank, in backward again; their gradients travel
///               with them and come home. Beside its own a rank holds one block that arrives (Held::scratch of the
///               core). Messages run beside the core (RingTime in calc/step/row_time.hpp).
///   all-gather  (Llama 3, arXiv:2407.21783) every rank gathers all keys and values, in backward again, and scatters
///               the sum of their gradients. The gathered tensor is a result like any other.
///   Ulysses     (DeepSpeed, arXiv:2309.14509) one all-to-all turns q, k and v of all heads and a part of the tokens
///               into those of some heads and all tokens; another one turns the output back; backward the same. KV
///               heads fewer than the ranks are replicated.
/// For ring and all-gather a sequence is cut into 2 c equal pieces, of which rank i has pieces i and 2 c - 1 - i: then
/// causal pairs are equal on all ranks (Llama 3, 3.3.2). A core's FLOPs are those of all ranks over c, in every
/// convention. A window changes nothing about what is sent, though a ring might skip blocks that no query sees; its
/// ranks' pairs differ by the start of the sequence, and FLOPs are the mean, rounded up.
///
/// Expanded keys and values of latent attention are sent with the shared key in every head; absorbed ones as latent
/// rows. Left out: sums of a ring's partial results. Training only; linear attention is refused (flaw()).

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// The operators of one of layout.cp > 1 ranks, after split_tensor().
OpList split_context(const OpList& ops, const Layout& layout);

}  // namespace llmcalc
