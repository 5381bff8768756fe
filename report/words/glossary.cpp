#include "report/words/glossary.hpp"

#include <array>

namespace llmcalc {
namespace {

constexpr std::array terms{
    Term{"Models", "parameters", "trainable values; a tied head counts once, buffers do not count"},
    Term{"Models", "active parameters", "parameters that one token uses: of routed experts, only the chosen ones"},
    Term{"Models", "non-embedding parameters",
         "all parameters except token embedding, learned positions and an untied head (Kaplan's N)"},
    Term{"Models", "GQA, MQA, MLA",
         "attention with fewer KV heads than query heads, with one, or with a shared low-rank latent"},
    Term{"Models", "dense layer, MoE layer", "a layer with one MLP, or with a router and experts"},
    Term{"Models", "token mixer", "the part of a layer that combines tokens: attention, a recurrence, or both"},
    Term{"Models", "MTP", "multi-token prediction: modules that predict further tokens, used in training or as drafts"},
    Term{"Training", "micro-batch", "sequences of one forward and backward pass of a replica"},
    Term{"Training", "global batch", "sequences of one optimizer step over all replicas"},
    Term{"Training", "MFU, HFU", "model or hardware FLOPs per second over the peak; HFU also counts recomputation"},
    Term{"Training", "model FLOPs", "FLOPs of forward and backward without recomputation; 2 per multiply-add"},
    Term{"Training", "executed FLOPs", "FLOPs of the kernels, including recomputation and masked tiles"},
    Term{"Training", "saved for backward", "tensors that the forward pass keeps for the gradient"},
    Term{"Training", "recompute",
         "run the forward pass of a layer or module again in backward instead of saving its tensors"},
    Term{"Training", "workspace", "live tensors at the peak that are neither saved nor logits"},
    Term{"Training", "master weights", "float32 copy of 16-bit weights, counted with the optimizer"},
    Term{"Training", "ZeRO 1, 2, 3", "data-parallel ranks shard optimizer states; also gradients; also weights (FSDP)"},
    Term{"Training", "HSDP", "states sharded within a group of ranks and replicated between groups"},
    Term{"Training", "tp, sp, cp, ep, pp, dp", "tensor, sequence, context, expert, pipeline and data parallelism"},
    Term{"Training", "bubble", "idle time of pipeline ranks at the start and end of a step"},
    Term{"Training", "pipeline stall", "time that a rank waits for a message from another stage"},
    Term{"Training", "exposed communication", "the part of a collective that is not overlapped with computation"},
    Term{"Training", "LoRA, QLoRA", "low-rank adapters are trained and the model is frozen; QLoRA: in 4 bits"},
    Term{"Training", "FSDP", "fully sharded data parallelism: ZeRO 3"},
    Term{"Training", "NVLink, PCIe", "links inside a node"},
    Term{"Training", "DCP", "decode context parallelism: ranks share the KV cache by position or head"},
    Term{"Inference and serving", "prefill", "the pass over the prompt"},
    Term{"Inference and serving", "decode", "a pass that generates one token per sequence"},
    Term{"Inference and serving", "KV cache",
         "keys and values of past tokens; recurrent layers keep a state of fixed size instead"},
    Term{"Inference and serving", "TTFT, TPOT", "time to first token, time per output token"},
    Term{"Inference and serving", "goodput", "requests per second that meet the limits"},
    Term{"Inference and serving", "chunked prefill", "a prompt processed in parts, together with decoding sequences"},
    Term{"Inference and serving", "continuous batching", "requests join and leave the batch between passes"},
    Term{"Inference and serving", "speculative decoding", "a pass verifies several drafted tokens"},
    Term{"Inference and serving", "ITL", "inter-token latency: time between consecutive tokens of one answer"},
    Term{"Inference and serving", "SLO",
         "service-level objective: latency limits that a share of requests must meet (--slo-ttft, --slo-tpot, "
         "--percentile)"},
    Term{"Inference and serving", "EAGLE", "drafts from the hidden states of the model by a small head"},
    Term{"Inference and serving", "GGUF",
         "file format of llama.cpp with weights in blocks and the architecture in its header"},
    Term{"Inference and serving", "disaggregation", "engines for prefill separate from engines for decode (--pools)"},
    Term{"Inference and serving", "prefix cache", "blocks of the KV cache that requests with the same beginning share"},
    Term{"Time", "bound",
         "time at the datasheet's rates: the longer of compute and memory time per operator, plus exposed "
         "communication"},
    Term{"Time", "estimate", "time at the rates that software reaches, with launch overhead"},
    Term{"Time", "interval", "range that contains 9 of 10 measurements of sources that were left out of the fit"},
    Term{"Time", "intensity", "executed FLOPs per byte moved"},
    Term{"Time", "ridge", "intensity at which compute and memory time are equal"},
    Term{"Time", "launch overhead", "time between kernels, or of the host to launch them"},
    Term{"Time", "link, level", "a connection between devices, and a tier of the network (node, rack, cluster)"},
    Term{"Time", "PUE", "power usage effectiveness: power of the data center over power of the machines"},
    Term{"Time", "MTBF", "mean time between failures of one GPU"},
    Term{"Pipeline schedules", "gpipe",
         "all micro-batches forward, then all backward; a rank holds the activations of every micro-batch "
         "(arXiv:1811.06965)"},
    Term{"Pipeline schedules", "1f1b",
         "after a warm-up each rank alternates one forward and one backward; at most as many micro-batches in flight "
         "as stages (arXiv:2006.09503, arXiv:2104.04473)"},
    Term{"Pipeline schedules", "interleaved",
         "1F1B with several chunks of layers per rank (--chunks): a smaller bubble, more messages and activations "
         "(arXiv:2104.04473)"},
    Term{"Pipeline schedules", "zb-h1",
         "zero bubble: backward splits into input and weight gradients, which fill the bubble; memory of 1F1B "
         "(arXiv:2401.10241)"},
    Term{"Pipeline schedules", "zb-h2",
         "zero bubble with more micro-batches in flight than 1F1B, and almost no bubble (arXiv:2401.10241)"},
    Term{"Pipeline schedules", "zb-1p, zb-2p",
         "zero-bubble schedules found by search under the activation memory of one or two times 1F1B "
         "(arXiv:2401.10241)"},
    Term{"Pipeline schedules", "zb-v",
         "zero bubble with two chunks per rank in a V: the first rank has the first and the last layers "
         "(arXiv:2401.10241)"},
    Term{"Pipeline schedules", "dualpipe",
         "micro-batches enter from both ends of the pipeline, and forward overlaps with backward; two copies of the "
         "weights (DeepSeek-V3, arXiv:2412.19437)"},
    Term{"Pipeline schedules", "dualpipe-v", "DualPipe with one copy of the weights, two chunks per rank in a V"},
};

}  // namespace

std::span<const Term> glossary() { return terms; }

}  // namespace llmcalc
