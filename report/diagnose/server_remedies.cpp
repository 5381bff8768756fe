#include "report/diagnose/server_remedies.hpp"

#include <array>

namespace llmcalc {
namespace {

constexpr std::array all_remedies{
    ServerRemedies{"a lower --gpu-memory-utilization, --max-num-batched-tokens or --max-num-seqs, or more GPUs",
                   "more GPUs (--tensor-parallel-size), a checkpoint of fewer bits, or --cpu-offload-gb",
                   "lower --max-model-len or raise --gpu-memory-utilization",
                   "raise --gpu-memory-utilization, or shard the model over more GPUs"},
    ServerRemedies{"a lower --mem-fraction-static, --chunked-prefill-size or --cuda-graph-max-bs, or more GPUs",
                   "more GPUs (--tp-size), a checkpoint of fewer bits, or --cpu-offload-gb",
                   "lower --context-length or raise --mem-fraction-static",
                   "raise --mem-fraction-static, or shard the model over more GPUs"},
    ServerRemedies{"a lower free_gpu_memory_fraction, --max_num_tokens or --max_batch_size, or more GPUs",
                   "more GPUs (--tp_size), or a checkpoint of fewer bits",
                   "lower --max_seq_len or raise free_gpu_memory_fraction",
                   "raise free_gpu_memory_fraction, or shard the model over more GPUs"},
    ServerRemedies{
        "a smaller -c or -ub, a cache of fewer bits (-ctk q8_0 -ctv q8_0), or fewer layers on the GPU (-ngl)",
        "fewer layers on the GPU (-ngl), experts on the host (--n-cpu-moe), or a file of fewer bits", "lower -c or -np",
        "lower -c, or use a cache of fewer bits (-ctk q8_0 -ctv q8_0)"},
    ServerRemedies{"a smaller num_ctx or num_batch, OLLAMA_KV_CACHE_TYPE=q8_0, or fewer layers on the GPU (num_gpu)",
                   "fewer layers on the GPU (num_gpu), or a file of fewer bits", "lower num_ctx or OLLAMA_NUM_PARALLEL",
                   "lower num_ctx, or set OLLAMA_KV_CACHE_TYPE=q8_0"},
    ServerRemedies{"a lower --max-batch-prefill-tokens, --max-total-tokens or --cuda-memory-fraction, or more GPUs",
                   "more GPUs (--num-shard), or a checkpoint of fewer bits (--quantize)",
                   "lower --max-total-tokens or raise --cuda-memory-fraction",
                   "raise --cuda-memory-fraction, or shard the model over more GPUs"}};
static_assert(all_remedies.size() == choices<LoggedServer>.size());

}  // namespace

const ServerRemedies& remedies_of(LoggedServer s) { return all_remedies[static_cast<std::size_t>(s)]; }

}  // namespace llmcalc
