#pragma once
/// Closed forms of inference: KV cache, FLOPs, weight traffic, roofline times of whole steps, and a server's steady
/// state.

#include "calc/arch.hpp"
#include "calc/textbook/exact.hpp"
#include "calc/textbook/flops.hpp"
#include "calc/textbook/sizes.hpp"

namespace llmcalc::textbook {

// ---- KV cache

/// Bytes per token over all layers on one of T ranks: 2 ceil(G/T) (d_h p + scale) L; for latent attention (r_kv + d_r)
/// p L on every rank; an indexer's key adds d_i p on every rank. `scale_bytes`: bytes of a quantized cache's scales per
/// head vector. Layers that reuse another layer's keys and values have no cache, nor do encoder layers. Not counted: a
/// decoder's cross-attention cache, which has the same bytes per encoder token, and states, which do not grow.
Bytes kv_bytes_per_token(const Arch& arch, Count precision, Count tensor_parallel = 1, Count scale_bytes = 0);

/// Cache bytes of B sequences of c tokens, rounded up to whole pages; layers with a window or chunks of W store min(c,
/// W) tokens.
Bytes kv_cache_bytes(const Arch& arch, Count batch, Count context, Count precision, Count tensor_parallel = 1,
                     Count page = 1, Count scale_bytes = 0);

// ---- States of constant size

/// Bytes of a sequence's states on one rank. Linear attention: 4 A d_h^2 per layer (float32). A recurrence: H d_p d_k
/// values in its state's format (RG-LRU: d_k is 1; mLSTM: H (d_k (d_p + 1) + 1), with a normalizer and its scale), and
/// the last t_c - 1 inputs of its convolutions, p bytes each, or RWKV's last token of D values on every rank, plus
/// another D values for an MLP that mixes tokens. A short convolution stores only these inputs.
template <class N>
N sequence_state(const Sizes<N>& all, const N& p) {
  return over_parts(all, [&](const Sizes<N>& s) {
    const bool linear = !(s.L_l == N(0)), recurs = !(s.L_r == N(0));
    const N attention = linear ? N(4) * s.L_l * s.cut(s.A) * s.d_h * s.d_h : N(0);
    const N others = s.shifts_mlp ? attention + p * layers_with_dense_mlp(s) * s.D : attention;
    if (!recurs) return others;
    const Recurrent& r = s.mixer.recurrent;
    const bool normalizes = r.kind == RecurrentKind::mlstm;
    const N shifted = shifts(r) ? p * s.D : N(0);
    const N inputs = has_convolutions(r) ? p * (s.r.K - N(1)) * convolved_channels(s) : shifted;
    if (!has_states(r)) return others + s.L_r * inputs;
    const N state = state_values(s) * s.r.d;
    return others + s.L_r * (N(r.state_bytes) * s.cut(s.r.H) * (normalizes ? state + N(1) : state) + inputs);
  });
}
/// Bytes of one sequence's states in a whole model, with p = `precision` bytes per element of the convolution inputs.
Bytes state_bytes_per_sequence(const Arch& arch, Count precision);

// ---- Work and traffic

/// FLOPs of one step of B sequences whose context c includes the new token: B (2 N_mm + 4 L A d_h c) for grouped heads.
/// Latent attention: absorbed 2A (2r_kv + d_r) per token of context; expanded 2A (d_n + d_r + d_v), which assumes that
/// the keys and values of earlier tokens stay expanded.
Flops decode_flops(const Arch& arch, Count batch, Count context, bool absorbed = true);

/// Expected number of distinct experts to which t tokens are routed, each to k of n at random: n (1 - (1 - k/n)^t).
double experts_touched(Count experts, Count top_k, Count tokens);

/// Weight bytes read by a pass over t tokens: matrices, norms and biases once per layer that uses them, t rows of
/// each table, and the expected number of active experts.
double weight_bytes_read(const Arch& arch, Count tokens, Count weight_bytes);

// ---- Times: max(FLOPs / (n peak e), bytes / (n bandwidth e')) of a whole step

struct Machine {
  Count devices = 1;
  double peak = 0, bandwidth = 0;
  double flops_efficiency = 1, bandwidth_efficiency = 1;
};
/// Seconds of a decode step, which reads the weights and the cache of all visible tokens once, plus exposed
/// communication.
double decode_step_seconds(const Arch& arch, Count batch, Count context, Count weight_bytes, Count kv_bytes,
                           const Machine& machine, double communication = 0);
/// Seconds of a prefill with the head applied to the last position only and without cache writes.
double prefill_seconds(const Arch& arch, const PassShape& pass, Count weight_bytes, const Machine& machine);

// ---- Capacity: floor((n M u - weights - reserve) / (cache bytes per token x context or batch)), at least 0

struct Capacity {
  Count memory = 0, devices = 1, weights = 0, reserve = 0;
  double utilization = 1;
};
Count max_batch(const Capacity& room, Count kv_per_token, Count context);
Count max_context(const Capacity& room, Count kv_per_token, Count batch);

// ---- Speculative decoding (arXiv:2211.17192): each of g drafted tokens is accepted with probability a

/// Tokens per cycle, including the target's own: (1 - a^(g+1)) / (1 - a); g + 1 for a = 1.
double speculative_tokens(double acceptance, Count draft);
/// Speedup over one token per step: tokens / (g c + 1), where c is the draft's cost per token relative to the target's.
/// Assumes that verifying g + 1 tokens takes the time of one step, which is true while the target is memory-bound.
double speculative_speedup(double acceptance, Count draft, double cost_ratio);
/// The smallest g in [0, limit] that maximizes the speedup.
Count best_draft(double acceptance, double cost_ratio, Count limit);

// ---- Continuous batching in steady state: B slots, with prefills in sequence between decode steps

struct Serving {
  Count batch = 1, prompt = 0, generated = 0;
  double fixed = 0;              ///< seconds of a decode step with an empty cache: weights / bandwidth
  double per_context_token = 0;  ///< additional seconds per cached token: its bytes / bandwidth
  double prefill = 0;            ///< seconds to prefill one prompt
};
/// Seconds of a decode step: fixed + B per_context_token (n_in + (n_out + 1)/2).
double serving_step_seconds(const Serving& s);
double requests_per_second(const Serving& s);  ///< 1 / (n_out step / B + prefill)
double serving_tokens_per_second(const Serving& s);
double time_per_output_token(const Serving& s);  ///< step + B prefill / n_out

}  // namespace llmcalc::textbook
