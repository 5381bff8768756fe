#include "ask/request/options/training_options.hpp"

#include <array>

#include "ask/request/offload.hpp"
#include "ask/request/options/idle.hpp"
#include "ask/request/options/option_fields.hpp"
#include "ask/request/options/option_values.hpp"
#include "ask/request/request.hpp"
#include "ask/request/weight_precision.hpp"
#include "presets/load.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {
namespace training_fields {
using namespace option_fields;

constexpr Field master{value<&Plan::master, read_master>.read,
                       [](const Request& r) { return json::Value(r.plan.master ? "fp32" : "none"); }};
constexpr Field documents{[](Request& r, Text text, Text where) { r.plan.documents = read_documents(text, where); },
                          [](const Request& r) {
                            return r.plan.documents.empty() ? json::Value()
                                                            : json::Value(documents_text(r.plan.documents));
                          }};
constexpr Field lora{[](Request& r, Text text, Text where) {
                       const LoraText adapters = read_lora(text, where);
                       r.plan.lora_rank = adapters.rank;
                       r.plan.lora_targets = adapters.targets;
                     },
                     [](const Request& r) {
                       return trains_adapters(r.plan) ? json::Value(lora_text(r.plan.lora_rank, r.plan.lora_targets))
                                                      : json::Value();
                     }};
constexpr Field freeze{
    [](Request& r, Text text, Text where) { r.plan.frozen = read_freeze(text, where); },
    [](const Request& r) { return r.plan.frozen.empty() ? json::Value() : json::Value(freeze_text(r.plan.frozen)); }};
constexpr Field base_precision{
    [](Request& r, Text text, Text where) {
      const WeightsGiven given = read_weight_precision(text, where, r.model);
      r.plan.base_precision = settled(given, r.plan.base_precision, r.model.arch).formats_alone();
    },
    [](const Request& r) { return trains_adapters(r.plan) ? shown(r.plan.base_precision) : json::Value(); }};
constexpr Field recompute{[](Request& r, Text text, Text where) {
                            const Recomputation again = read_recomputation(text, where);
                            r.plan.recompute = again.what;
                            r.plan.recompute_method = again.method;
                            r.plan.recompute_layers = again.layers;
                            r.plan.recompute_modules = again.modules;
                          },
                          [](const Request& r) { return json::Value(recomputation_text(r.plan)); }};
constexpr Field offload{[](Request& r, Text text, Text where) { r.plan.offload = read_offload(text, where); },
                        [](const Request& r) {
                          const Offload& o = r.plan.offload;
                          return r.has(part::training) || o.any() ? json::Value(offload_text(o)) : json::Value();
                        }};
constexpr Field offload_bandwidth{value<&Request::offload_rate, read_storage>.read, [](const Request& r) {
                                    return r.offload_rate ? json::Value(r.offload_rate->value) : json::Value();
                                  }};
constexpr Field host{[](Request& r, Text text, Text) { r.host = load_hardware(std::string(text)); },
                     [](const Request& r) { return r.host ? json::Value(r.host->word) : json::Value(); }};
constexpr Field host_memory{
    [](Request& r, Text text, Text where) { r.host_memory = read_size(text, where); },
    [](const Request& r) { return r.host_memory ? json::Value(r.host_memory->value) : json::Value(); }};
constexpr Field mtp{value<&Plan::mtp, parse_count>.read,
                    [](const Request& r) { return r.plan.mtp > 0 ? json::Value(r.plan.mtp) : json::Value(); }};
constexpr Field ns_steps{value<&Plan::newton_schulz_steps, parse_positive>.read, [](const Request& r) {
                           const bool muon = traits(r.plan.optimizer).orthogonalizes;
                           return muon ? json::Value(r.plan.newton_schulz_steps) : json::Value();
                         }};

}  // namespace training_fields

namespace training_table {
using namespace part;
using namespace training_fields;
constexpr bool common = true;

constexpr std::array rows{
    Option{"--seq", "N", "tokens per sequence [the model's context, at most 8192]", common, training | formulas, "",
           "--prompt", value<&Plan::seq, parse_positive>},
    listed(
        Option{"--documents", "LENGTHS",
               "document lengths in a packed sequence, for example 16x512 or 4096,2048,4x512; attention stays within a "
               "document [one]",
               !common, training | formulas, "", "", documents}),
    Option{"--micro-batch", "N", "sequences per micro-batch [1]", common, training | formulas, "", "--batch",
           value<&Plan::micro_batch, parse_positive>},
    Option{"--global-batch", "N", "sequences per optimizer step across all GPUs [one micro-batch per replica]", common,
           training | step, "", "--batch", value<&Plan::global_batch, parse_positive>},
    Option{"--mtp", "N", "multi-token prediction (MTP) modules, trained with the model or used for drafting [0]",
           common, training | inference | formulas, "", "", mtp, idle::mtp_modules},
    listed(Option{
        "--recompute", recomputation_forms,
        "activation recomputation: none; selective: modules of every block (core, norm, act, mlp, up; default core); "
        "block:N: the first N layers of each chunk; uniform:N: all layers, in groups of N; full: all layers [none]",
        common, training | formulas, "", "", recompute, idle::latent_recompute}),
    listed(
        Option{"--offload", "WHAT[:FRACTION],...",
               "tensors to keep in host memory; training: activations, optimizer (updates run on the host), weights; "
               "inference: weights (of the blocks), experts, kv; each in full unless a FRACTION is given [none]",
               common, training | inference, "", "", offload}),
    Option{"--offload-bandwidth", "B/S",
           "bandwidth per GPU to offloaded tensors, if slower than the host link, as with NVMe drives [the link's]",
           !common, training | inference, "--offload", "", offload_bandwidth},
    Option{"--host", "CPU",
           "host CPU, preset or file; used for weights, caches and optimizer updates on the host [the hardware file's, "
           "else a desktop with two channels of DDR5-5600]",
           !common, training | inference, "--hardware", "", host},
    Option{"--host-memory", "SIZE", "host memory shared by the GPUs of one replica [the hardware file's, or unlimited]",
           !common, training | inference, "--hardware", "", host_memory},
    listed(Option{"--lora", "RANK[:TARGETS]",
                  "train LoRA adapters of this rank on the blocks' matrices (q, k, v, out, gate, up, down) and freeze "
                  "everything else [none; all matrices]",
                  common, training | formulas, "", "", lora}),
    listed(
        Option{"--freeze", "PARTS",
               "frozen parts: embedding, head, attention, mlp, experts, router, norm, or blocks (layers:0-15) [none]",
               common, training | formulas, "", "", freeze}),
    listed(Option{"--base-precision", "F",
                  "format of the frozen weights: any format listed by 'llmcalc list dtypes' [the checkpoint's]",
                  !common, training, "--lora", "", base_precision}),
    Option{"--optimizer", choice_names<Optimizer>,
           "optimizer; muon updates the blocks' matrices, and adam all other parameters [adam]", common,
           training | formulas, "", "", choice<Optimizer, &Plan::optimizer>, idle::optimizer_flops},
    Option{"--ns-steps", "N", "Newton-Schulz iterations of muon [5]", !common, step | formulas, "", "", ns_steps,
           idle::newton_schulz},
    Option{"--master", "fp32|none", "float32 master copy of 16-bit weights [fp32]", !common, training, "", "", master},
    Option{"--state-precision", "F", "format of optimizer moments [fp32; without a master copy, same as --precision]",
           !common, training, "", "", value<&Plan::state_precision, read_plain>},
    Option{"--gradient-bytes", "2|4|6", "bytes per gradient; 6: a 16-bit gradient and its float32 accumulator [4]",
           !common, training, "", "", value<&Plan::gradient_bytes, read_gradient_bytes>},
    Option{"--dropout", "", "dropout on embedding, attention and residuals [off]", !common, training, "", "",
           flag<&Plan::dropout>},
    Option{"--softmax-store", choice_names<SoftmaxStore>,
           "tensors that naive attention saves for backward; minimal: the softmax output; seed: also the scores, as in "
           "Goon (2.5) [minimal]",
           !common, training, "", "", choice<SoftmaxStore, &Plan::softmax_store>, idle::stored_scores},
    Option{"--glu-store", choice_names<GluStore>,
           "tensors that a gated MLP saves for backward; all: gate, act(gate), up and act(gate) * up; fused: all but "
           "act(gate); recompute: only gate and up [all]",
           !common, training, "", "", choice<GluStore, &Plan::glu_store>, idle::gated_mlp},
    Option{"--norm-stats", "on|off", "save normalization statistics for backward [on]", !common, training, "", "",
           value<&Plan::norm_stats, read_switch>},
    Option{"--logits", "fp32|compute|bf16+grad|chunked:N|bytes:N",
           "logits in the loss: fp32; compute: same as --precision; bf16+grad: like compute, plus a float32 copy and "
           "gradient; chunked:N: N chunks in sequence; bytes:N: N bytes per logit [fp32]",
           !common, training, "", "", value<&Plan::logits, read_logits>},
};
}  // namespace training_table
}  // namespace

std::span<const Option> training_options() { return training_table::rows; }

}  // namespace llmcalc
