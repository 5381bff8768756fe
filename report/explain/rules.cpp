#include "report/explain/rules.hpp"

namespace llmcalc::explain {
namespace {

// E = F/D is the MLP's expansion.
constexpr Rule rule_table[] = {
    {"parameters of a GPT on each of T ranks", "(4 + 2*E)*L*D^2/T", "parameters", "Goon (2.2), (2.12), (E.1)"},
    {"a GPT's parameters with biases, norms, tied table", "(4 + 2*E)*L*D^2 + (9 + E)*L*D + (V + K)*D + 2*D",
     "parameters", "Goon (2.2), all terms"},
    {"activations, attention", "B*L*S*((5*p + 1)*D + (2*p + 1)*A*S)", "bytes", "Goon (2.5)"},
    {"activations, MLP", "(2*E*p + p + 1)*B*D*L*S", "bytes", "Goon (2.6)"},
    {"total activations, naive attention and dropout", "2*B*D*L*S*(p*(E + 4) + 1) + A*B*L*S^2*(2*p + 1)", "bytes",
     "Goon (2.7)"},
    {"total activations on each of T ranks", "2*B*D*L*S*(p*(2 + (E + 2)/T) + 1) + A*B*L*S^2*(2*p + 1)/T", "bytes",
     "Goon (2.14)"},
    {"batch size above which mixed precision saves memory", "6*D^2/(8*D*S + A*S^2)", "sequences", "Goon (2.9), E = 4"},
    {"training state, float32 Adam", "16*N", "bytes", "Goon (2.1), (2.4)"},
    {"training state, mixed precision", "18*N", "bytes", "Goon (2.3), (2.4); 16*N with 2-byte gradients"},
    {"FLOPs of training", "12*B*D*L*S*(S + (2 + E)*D)", "FLOP", "Goon (3.2)"},
    {"attention share of the training FLOPs", "S/(S + (2 + E)*D)", "", "Goon (3.2)"},
    {"FLOPs of a run", "6*N*D_run", "FLOP", "Goon (3.4)"},
    {"KV cache on each of T ranks", "2*p*B*D*L*S/T", "bytes", "Goon (6.1), G = A"},
    {"inference memory with a KV cache", "p*N + 2*p*B*D*L*S/T", "bytes", "Goon (7.1)"},
    {"intensity of decoding", "(2*B*N + 4*B*L*S*D)/(p*N + 2*p*B*L*S*D)", "FLOP/byte",
     "Goon (7.2), which leaves it open"},
    {"intensity of a D x D matmul", "2*B*S*D/(p*(2*B*S + D))", "FLOP/byte", "Goon (D.1) with its 2"},
    {"tokens per pass above which a matmul is compute-bound", "pi/beta*p_w/2", "tokens", "Goon App. D, weights only"},
    {"ring all-reduce of b bytes: bytes sent by each of T ranks", "2*(T - 1)/T*b", "bytes",
     "Goon App. B; Patarasuk & Yuan 2009"},
    {"ring all-gather or reduce-scatter of b bytes: bytes sent by each of T ranks", "(T - 1)/T*b", "bytes",
     "Goon App. B"},
    {"tensor parallelism, bytes sent per layer and micro-batch", "8*(T - 1)/T*B*S*D*p", "bytes",
     "Megatron (arXiv:1909.08053); Goon §2.4"},
    {"compute-optimal tokens", "20*N", "tokens", "Chinchilla (arXiv:2203.15556), rule of thumb"},
};

}  // namespace

std::span<const Rule> rules() { return rule_table; }

}  // namespace llmcalc::explain
