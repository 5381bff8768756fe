#include "ask/request/options/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "ask/request/low_precision.hpp"
#include "ask/request/machine.hpp"
#include "ask/request/options/idle.hpp"
#include "ask/request/options/option_fields.hpp"
#include "ask/request/options/option_values.hpp"
#include "ask/request/options/serving_options.hpp"
#include "ask/request/options/training_options.hpp"
#include "ask/request/software.hpp"
#include "ask/request/target.hpp"
#include "ask/request/weight_precision.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {
using namespace option_fields;

// ---- Special fields

/// Reads the name of one device. Only searches accept several names, and they split them beforehand.
HardwareCard one_device(const std::string& said) {
  if (const std::size_t comma = said.find(',');
      comma != std::string::npos && find_builtin(builtin_hardware(), said.substr(0, comma)) != nullptr)
    throw InputError(fmt::format(
        "--hardware {}: expected one device; use 'llmcalc plan train' or 'llmcalc plan serve' to compare several",
        said));
  return load_hardware(said);
}

constexpr Field device{[](Request& r, Text text, Text) {
                         r.machine.clear();
                         if (names_machine(text))
                           read_machine(r, std::string(text));
                         else
                           r.hardware = one_device(std::string(text));
                       },
                       [](const Request&) { return json::Value(); }};
constexpr Field all_gpus{value<&Request::gpus, parse_positive>.read,
                         [](const Request& r) { return json::Value(devices(r.layout)); }};
constexpr Text no_software = "none";
constexpr Field software{[](Request& r, Text text, Text) {
                           r.without_software = text == no_software;
                           if (r.without_software) return;
                           const SoftwareCard card = load_software(std::string(text));
                           if (card.training) r.software = card;
                           if (card.inference) r.engine = card;
                         },
                         [](const Request& r) {
                           if (r.without_software) return json::Value(no_software);
                           const auto& card = r.software ? r.software : r.engine;
                           return card ? json::Value(card->word) : json::Value();
                         }};
Achieved reached_by(const Request& r) {
  const Request asked = r.has(part::training) ? for_training(r) : for_inference(r);
  return asked.hardware->cluster.device.achieved;
}
constexpr Field efficiency{value<&Plan::efficiency, parse_fraction>.read, [](const Request& r) {
                             const auto reached = [&] {
                               return r.hardware ? Device::of(reached_by(r).matmul, r.plan.precision) : 1;
                             };
                             return json::Value(r.plan.efficiency ? *r.plan.efficiency : reached());
                           }};
constexpr Field memory_efficiency{value<&Plan::memory_efficiency, parse_fraction>.read, [](const Request& r) {
                                    const double reached = r.hardware ? reached_by(r).memory : 1;
                                    return json::Value(r.plan.memory_efficiency.value_or(reached));
                                  }};
constexpr Field mla{choice<Mla, &Plan::mla>.read, [](const Request& r) {
                      const bool has = r.model.arch.attention == AttentionKind::latent;
                      return has ? shown(r.plan.mla) : json::Value();
                    }};
constexpr Field loaded_media_encoders{
    [](Request& r, Text, Text) { r.loads_media_encoders = false; },
    [](const Request& r) {
      return r.model.media_encoders.bytes() > Bytes() ? json::Value(r.loads_media_encoders) : json::Value();
    }};
constexpr Field narrow{
    [](Request& r, Text text, Text where) { r.plan.low_precision.parts = read_set<NarrowPart>(text, where); },
    [](const Request& r) {
      return working_format(r.plan) == r.plan.precision ? json::Value()
                                                        : json::Value(set_text(r.plan.low_precision.parts));
    }};
constexpr Field wide_layers{[](Request& r, Text text, Text where) {
                              const WideLayers wide = read_wide_layers(text, where);
                              r.plan.low_precision.first_wide = wide.first;
                              r.plan.low_precision.last_wide = wide.last;
                            },
                            [](const Request& r) {
                              const std::string text = wide_layers_text(r.plan.low_precision);
                              return text.empty() ? json::Value() : json::Value(text);
                            }};
constexpr Field weight_precision{[](Request& r, Text text, Text where) {
                                   WeightFormats& w = r.plan.weight_precision;
                                   r.weights_given = read_weight_precision(text, where, r.model);
                                   w = settled(r.weights_given, w, r.model.arch);
                                 },
                                 [](const Request& r) {
                                   if (!r.has(part::inference) && r.has(part::training))
                                     return shown(held_weights(r.plan));
                                   const WeightFormats& w = r.plan.weight_precision;
                                   const bool one = w.uniform() && !w.any_held();
                                   return one || !r.gave("--weight-precision") ? shown(w)
                                                                               : json::Value(r.weights_given.text);
                                 }};
constexpr Field what_if_memory{
    [](Request& r, Text text, Text where) { r.what_if.memory = read_memory_given(text, where); },
    [](const Request& r) { return r.what_if.memory ? memory_given_json(*r.what_if.memory) : json::Value(); }};
constexpr Field what_if_network{
    [](Request& r, Text text, Text where) { r.what_if.network = read_scale(text, where); },
    [](const Request& r) { return r.what_if.network ? json::Value(scale_text(*r.what_if.network)) : json::Value(); }};
/// Reads a single price, or a price per device.
constexpr Field price{[](Request& r, Text text, Text where) {
                        if (text.find('=') != Text::npos)
                          r.what_if.prices = read_prices(text, where);
                        else
                          r.run.price = read_price(text, where);
                      },
                      [](const Request& r) {
                        return r.what_if.prices.empty() ? shown(r.run.price) : json::Value(prices_text(r.what_if));
                      }};
constexpr Field require_fit{
    [](Request& r, Text text, Text where) {
      if (text != "" && text != "yes" && text != "likely")
        throw InputError(fmt::format("{}: expected yes or likely, got {}", where, in_quotes(text)));
      r.require_fit = text == "yes" ? RequiredFit::yes : RequiredFit::likely;
    },
    [](const Request& r) {
      if (r.require_fit == RequiredFit::none) return json::Value();
      return r.require_fit == RequiredFit::yes ? json::Value("yes") : json::Value(true);
    }};
constexpr Field restart{value<&RunInputs::restart, parse_real>.read,
                        [](const Request& r) { return r.run.mtbf ? json::Value(r.run.restart) : json::Value(); }};
constexpr Field pue{value<&RunInputs::pue, read_pue>.read, [](const Request& r) {
                      return r.run.watts || r.gave("--pue") ? json::Value(r.run.pue) : json::Value();
                    }};

constexpr Field dcp{value<&Layout::dcp, parse_positive>.read, [](const Request& r) {
                      const Count n = ranks(r.layout, Group::cached);
                      return n > 1 ? json::Value(n) : json::Value();
                    }};
constexpr Field cp_method{value<&Layout::context_method, read_choice<ContextMethod>>.read, [](const Request& r) {
                            return r.layout.cp > 1 ? shown(r.layout.context_method) : json::Value();
                          }};
constexpr Field etp{value<&Layout::etp, parse_positive>.read,
                    [](const Request& r) { return json::Value(ranks(r.layout, Group::expert_tensor)); }};
constexpr Field expert_nodes{value<&Layout::expert_nodes, parse_positive>.read, [](const Request& r) {
                               return r.layout.expert_nodes > 0 ? json::Value(r.layout.expert_nodes) : json::Value();
                             }};
constexpr Field dispatcher{value<&Layout::once_per_rank, read_dispatcher>.read, [](const Request& r) {
                             return r.layout.once_per_rank && ranks(r.layout, Group::expert) > 1 ? json::Value("flex")
                                                                                                 : json::Value();
                           }};
constexpr Field expert_load{value<&Layout::expert_load, read_load>.read, [](const Request& r) {
                              return r.model.arch.has_experts() ? json::Value(r.layout.expert_load.value())
                                                                : json::Value();
                            }};
/// Throws InputError if --zero contradicts --fsdp, which means --zero 3.
void check_one_stage(const Request& r, Zero stage) {
  if (r.layout.zero != stage)
    throw InputError(fmt::format("--fsdp means --zero 3 and conflicts with --zero {}; omit one of them",
                                 std::min(static_cast<int>(stage), static_cast<int>(r.layout.zero))));
}
constexpr Field zero{[](Request& r, Text text, Text where) {
                       const Zero stage = read_zero(text, where);
                       if (r.gave("--fsdp")) check_one_stage(r, stage);
                       r.layout.zero = stage;
                     },
                     [](const Request& r) { return json::Value(static_cast<int>(r.layout.zero)); }};
constexpr Field fsdp{[](Request& r, Text, Text) {
                       if (r.gave("--zero")) check_one_stage(r, Zero::weights);
                       r.layout.zero = Zero::weights;
                     },
                     [](const Request&) { return json::Value(); }};
constexpr Field hsdp{value<&Layout::hsdp, parse_positive>.read,
                     [](const Request& r) { return r.layout.hsdp > 0 ? json::Value(r.layout.hsdp) : json::Value(); }};
constexpr Field reshard{value<&Layout::reshard, read_switch>.read, [](const Request& r) {
                          return r.layout.zero == Zero::weights ? json::Value(r.layout.reshard ? "on" : "off")
                                                                : json::Value();
                        }};
constexpr Field order{value<&Layout::order, read_order>.read,
                      [](const Request& r) { return json::Value(order_text(r.layout.order)); }};
constexpr Field schedule{value<&Layout::schedule, read_choice<Schedule>>.read,
                         [](const Request& r) { return r.layout.pp > 1 ? shown(r.layout.schedule) : json::Value(); }};
constexpr Field stage_layers{value<&Layout::stage_layers, read_stage_layers>.read, [](const Request& r) {
                               const StageLayers& l = r.layout.stage_layers;
                               const std::span<const Count> all(l.begin(), l.size());
                               return l.empty() ? json::Value() : json::Value(stage_layers_text(all));
                             }};

// ---- The table

/// This namespace contains short names for the parts of an answer, which would collide with other names elsewhere.
namespace option_tables {
using namespace part;
constexpr Parts both = training | inference;
constexpr bool common = true;

constexpr std::array rank_options{
    Option{"--hardware", "HW",
           "hardware preset or file; several devices in one machine are joined by +: rtx-3090+rtx-3060", common,
           part::hardware, "", "", device},
    Option{"--memory-utilization", "X", "fraction of device memory available to tensors [1; 0.9 for fit and servers]",
           !common, fit | training, "--hardware", "", value<&Plan::memory_utilization, parse_fraction>},
    Option{"--memory", "SIZE", "memory of a device, or a factor such as 1.5x [the hardware file's]", !common,
           both | fit, "--hardware", "", what_if_memory},
    Option{"--network", "FACTOR", "bandwidth between nodes as a factor such as 2x [1x]", !common, time, "--hardware",
           "", what_if_network},
    Option{"--gpus", "N", "total number of GPUs [--tp x --cp x --pp x --dp]", common, run, "", "", all_gpus},
    Option{"--tp", "N", "tensor-parallel size; must divide the number of attention heads [1]", common, both, "", "",
           value<&Layout::tp, parse_positive>},
    Option{"--sp", "", "sequence parallelism over the tensor-parallel ranks [off]", common, both, "", "",
           flag<&Layout::sp>},
    Option{"--dcp", "N",
           "decode context parallelism: --tp ranks with the same KV heads across which cached tokens are sharded [1]",
           !common, inference | serving, "--tp", "", dcp},
    Option{"--cp", "N", "context-parallel size [1]", common, training, "", "", value<&Layout::cp, parse_positive>},
    Option{"--cp-method", choice_names<ContextMethod>, "context-parallel attention method [ring]", !common, training,
           "--cp", "", cp_method},
    Option{"--ep", "N", "expert-parallel size; reuses the ranks of --tp, --cp and --dp [1]", common, training | serving,
           "", "", value<&Layout::ep, parse_positive>, idle::expert_ranks},
    Option{"--etp", "N", "tensor-parallel size of each expert [same as --tp]", !common, training | serving, "", "", etp,
           idle::expert_tensor_ranks},
    Option{"--expert-nodes", "N",
           "maximum number of nodes per token for expert routing; each node receives the token once [no limit, once "
           "per expert]",
           !common, step, "--hardware", "", expert_nodes, idle::expert_nodes},
    Option{"--dispatcher", "alltoall|flex",
           "transport of tokens to their experts: alltoall (once per expert) or flex (DeepEP, HybridEP: once per rank "
           "and node) [alltoall]",
           !common, training, "", "", dispatcher, idle::dispatcher},
    Option{
        "--expert-load", "X",
        "expert load imbalance: tokens of the most loaded expert rank divided by the mean, or the capacity factor [1]",
        !common, training | serving, "", "", expert_load, idle::expert_load},
    Option{"--pp", "N", "pipeline-parallel size [1]", common, training | serving | one_batch, "", "",
           value<&Layout::pp, parse_positive>},
    Option{"--chunks", "N", "chunks of layers per pipeline rank (virtual stages) [1; 2 for V-shaped schedules]",
           !common, training, "--pp", "", value<&Layout::chunks, parse_positive>, idle::pipeline_of_one},
    Option{"--schedule", "NAME",
           "pipeline schedule: gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-1p, zb-2p, zb-v, dualpipe, dualpipe-v [1f1b; "
           "interleaved with --chunks]",
           !common, training, "--pp", "", schedule, idle::pipeline_of_one},
    listed(
        Option{"--stage-layers", "N,N,...",
               "layers per chunk, for example 8,6x9,8 [training: balanced to minimize the time of the slowest stage; "
               "inference: as the engine splits them]",
               !common, training | one_batch, "--pp", "", stage_layers, idle::pipeline_of_one}),
    Option{
        "--dp", "N",
        "data-parallel size; for servers: attention replicas that run each pass together [derived from --gpus, else 1]",
        common, training | serving, "", "", value<&Layout::dp, parse_positive>},
    Option{"--zero", "0..3",
           "ZeRO stage: shard optimizer states (1), gradients (2), weights (3) across data-parallel ranks [0]", common,
           training, "", "", zero},
    Option{"--fsdp", "", "fully sharded data parallelism, same as --zero 3 [off]", !common, training, "", "", fsdp},
    Option{"--hsdp", "N", "hybrid sharding: ranks per copy of the sharded states [all]", !common, training, "", "",
           hsdp},
    Option{"--reshard", "on|off", "reshard ZeRO-3 weights after forward and gather them again for backward [on]",
           !common, training, "", "", reshard},
    Option{"--order", "ORDER", "order of parallel dimensions, innermost (neighboring GPUs) first [tp-cp-ep-dp-pp]",
           !common, step, "", "", order},
};
constexpr std::array inference_options{
    Option{"--batch", "N", "batch size in sequences [1]", common, one_batch, "", "--micro-batch",
           value<&Plan::batch, parse_positive>},
    Option{"--prompt", "N",
           "prompt length in tokens [2048; less if prompt and answer would exceed the learned positions]", common,
           inference, "", "--seq", value<&Plan::prompt, parse_positive>},
    Option{"--generate", "N", "tokens to generate [256]", common, inference, "", "--seq",
           value<&Plan::generate, parse_positive>},
    listed(Option{"--kv-precision", "F",
                  "KV cache format: any format listed by 'llmcalc list dtypes', or separate formats for keys and "
                  "values (k=q8_0,v=q4_0) [same as --precision]",
                  !common, inference, "", "", value<&Plan::kv_precision, read_cache>, idle::latent_cache_row}),
    Option{"--no-kv-cache", "", "recompute the whole sequence for every token [cache on]", !common, one_batch, "", "",
           flag<&Plan::kv_cache, false>},
    Option{"--no-towers", "", "load only the text model, without its vision and audio encoders [loaded]", !common,
           inference, "", "", loaded_media_encoders, idle::media_encoders},
    Option{"--target", "SPEED",
           "list changes that reach a target speed, such as 50 tokens/s, 20 ms (per token or training step) or TTFT "
           "0.5 s; for training also 45 % MFU or, with --tokens, 30 days [none]",
           common, part::target, "--hardware", "", value<&Request::target, read_target>},
};
constexpr std::array kernel_options{
    Option{
        "--precision", "F",
        "format of compute and activations; formats below 16 bits (fp8, fp8-block, mxfp8, mxfp4, nvfp4) apply only to "
        "the blocks' matmuls [first of bf16, fp16, fp32 that the hardware supports]",
        common, both, "", "", value<&Plan::precision, read_compute>},
    listed(Option{
        "--narrow", "KINDS",
        "block matmuls to which a --precision below 16 bits applies: attention, mlp, experts; others stay in 16 bits "
        "[all]",
        !common, step, "--precision", "", narrow}),
    listed(Option{"--wide-layers", "first:N,last:M",
                  "numbers of blocks at the start and at the end of the model whose matmuls stay in 16 bits [none]",
                  !common, step, "--precision", "", wide_layers}),
    listed(Option{"--weight-precision", "F",
                  "weight format: any format listed by 'llmcalc list dtypes', a llama-quantize mix (q4_k_m), or a "
                  "format per component (experts=mxfp4,attention=bf16); with llama.cpp, q6_k means the mix of that "
                  "name and ggml:q6_k the plain block format [the checkpoint's, else same as --precision]",
                  common, both, "", "", weight_precision}),
    Option{"--attention", choice_names<AttentionImpl>, "attention implementation [flash]", !common, both | formulas, "",
           "", choice<AttentionImpl, &Plan::attention>},
    Option{"--mla", choice_names<Mla>,
           "latent attention (MLA) implementation [auto: absorbed in decode, expanded in prefill]", !common,
           both | formulas, "", "", mla, idle::latent_attention},
};
constexpr std::array time_options{
    Option{"--software", "NAME[@VERSION]",
           "software stack to estimate: any stack listed by 'llmcalc list software', a file, or none [training: "
           "megatron-lm with --tp or --pp, else torch-fsdp; inference: vllm, or llama.cpp on consumer devices; another "
           "stack if these lack a capability]",
           common, time | part::process | part::recorded, "--hardware", "", software},
    Option{"--any-software", "", "also estimate plans that the software cannot run [off]", !common,
           time | part::process | part::recorded, "--hardware", "", flag<&Request::any_software, true>},
    Option{"--efficiency", "X", "achieved fraction of peak matmul throughput, for the estimate [none]", !common, time,
           "--hardware", "", efficiency},
    Option{"--memory-efficiency", "X", "achieved fraction of peak memory bandwidth [none]", !common, time, "--hardware",
           "", memory_efficiency},
    Option{"--overlap", "X",
           "fraction of communication overlapped with compute [0 for communication within a layer, else 1]", !common,
           time, "--hardware", "", value<&Plan::overlap, parse_share>},
    Option{
        "--collectives", choice_names<Collectives>,
        "collective algorithm per link level: rings; trees between nodes; reduction in switches that support it [ring]",
        !common, time, "--hardware", "", value<&Layout::collectives, read_choice<Collectives>>},
    Option{"--roofline", choice_names<Roofline>, "roofline per operator, summed, or for the step as a whole [op]",
           !common, time, "--hardware", "", choice<Roofline, &Plan::roofline>},
    Option{"--attention-flops", choice_names<AttentionFlops>, "query-key pairs counted as model FLOPs [full]", !common,
           model_flops, "", "", choice<AttentionFlops, &Plan::attention_flops>},
    Option{"--params-in-6n", choice_names<ParamsIn6N>, "parameter count used as N in 6N [total]", !common, formulas, "",
           "", choice<ParamsIn6N, &Plan::params_in_6n>},
};
constexpr std::array run_options{
    Option{"--tokens", "D", "training tokens of the whole run, for total FLOPs, days, energy and cost [none]", common,
           run | formulas, "", "", value<&RunInputs::tokens, parse_positive>},
    listed(Option{"--price", "USD/h",
                  "price per GPU-hour, or by device: h100=2.1,mi300x=1.9 [first in the hardware file]", common,
                  run | serving, "--tokens", "", price}),
    Option{"--measured-tokens-per-s", "X",
           "measured total throughput of --gpus, for the MFU and the error of the estimate [none]", !common, run,
           "--hardware", "", value<&RunInputs::measured_tokens_per_s, parse_positive_real>},
    Option{"--mfu", "X", "MFU of the run; overrides the predicted MFU [none]", !common, run, "--tokens", "",
           value<&RunInputs::mfu, parse_fraction>},
    Option{"--days", "X", "deadline of the run in days, for the number of GPUs needed [none]", !common, run, "--tokens",
           "", value<&RunInputs::days, parse_positive_real>},
    Option{"--mtbf", "H", "mean hours between failures of one GPU, for the time lost to failures [none]", !common, run,
           "--checkpoint-bandwidth", "", value<&RunInputs::mtbf, parse_positive_real>},
    Option{"--checkpoint-bandwidth", "B/S", "total checkpoint write bandwidth of all GPUs [none]", !common, run,
           "--mtbf", "", value<&RunInputs::storage, read_storage>},
    Option{"--restart", "S", "seconds from a failure until training resumes [0]", !common, run, "--mtbf", "", restart},
    Option{"--watts", "W", "power per GPU [the hardware file's]", !common, run | serving, "--tokens", "",
           value<&RunInputs::watts, read_watts>},
    Option{"--pue", "X", "power usage effectiveness: data center power divided by machine power [1]", !common,
           run | serving, "--tokens", "", pue},
    Option{"--co2", "KG/KWH", "carbon intensity of the grid [none]", !common, run, "--tokens", "",
           value<&RunInputs::co2, parse_real>},
};
constexpr std::array output_options{
    Option{"--from", "COMMAND",
           "quoted launch command of a software stack, or a file with a command or configuration: sets MODEL, "
           "--software and the options that it specifies; further options override them",
           common, part::launch},
    Option{"--emit", "STACK",
           "print the command or configuration file that launches the plan with a software stack, such as vllm or "
           "megatron-lm, instead of the report",
           common, part::launch},
    Option{"--train", "", "training only", common, halves, "", "", mark<&Request::train>},
    Option{"--infer", "", "inference only", common, halves, "", "", mark<&Request::infer>},
    Option{"--stages", "", "add one line per pipeline stage", !common, training, "", "", mark<&Request::stages>},
    Option{"--require-fit", "[yes]",
           "exit with code 1 unless the verdict is yes or likely; with 'yes', unless it is yes [off]", !common,
           training | inference, "--hardware", "", require_fit},
    Option{"--ops", "", "add one line per operator", common, operators, "", "", mark<&Request::ops>},
    Option{"--full", "", "print every section instead of the short answer", common, part::full},
    Option{"--json", "", "print one JSON object in base units, with the unit in the key", common, part::json},
    Option{"--csv", "", "print the rows of the list as CSV", !common, part::records},
    Option{"--jsonl", "", "print the rows of the list as JSON, one per line", !common, part::records},
    Option{"--html", "FILE", "write the answer as a page with charts, tables and explanations; works without a network",
           common, part::pictures},
    Option{
        "--plot", "KIND",
        "draw a chart: memory, breakdown, roofline, sensitivity, pipeline, requests, plans, models, accuracy, batch, "
        "context or load",
        common, part::pictures},
    Option{"--out", "FILE.svg", "write the chart of --plot to a file; '-o' for short [drawn with characters]", !common,
           part::pictures, "--plot"},
    Option{"--markdown", "", "print tables in Markdown", common, markdown},
    Option{"--force", "", "replace an existing file that llmcalc did not write [refused]", !common,
           part::files | part::pictures},
    Option{"--exact", "", "also print all digits in text and Markdown; JSON always includes them", common, exact},
    Option{"--help", "", "show the most common options", common, help},
    Option{"--help-all", "", "show all options", common, help},
};
const std::array<Topic, 9>& all_topics() {
  static const std::array all{
      Topic{"Hardware and ranks", rank_options},
      Topic{"Training", training_options()},
      Topic{"Inference", inference_options},
      Topic{"Traffic", traffic_options()},
      Topic{"Server", server_options()},
      Topic{"Number formats and kernels", kernel_options},
      Topic{"Estimates and conventions", time_options},
      Topic{"The whole run", run_options},
      Topic{"Output", output_options},
  };
  return all;
}
}  // namespace option_tables

std::vector<Option> flattened() {
  std::vector<Option> all;
  for (const Topic& t : topics()) all.insert(all.end(), t.options.begin(), t.options.end());
  return all;
}

}  // namespace

std::string Option::key() const {
  std::string k(flag.substr(flag.starts_with("--no-") ? 5 : 2));
  std::replace(k.begin(), k.end(), '-', '_');
  return k;
}

std::span<const Topic> topics() { return option_tables::all_topics(); }

std::span<const Option> options() {
  static const std::vector<Option> all = flattened();
  return all;
}

const Option* find_option(std::string_view flag) {
  for (const Option& o : options())
    if (o.flag == flag) return &o;
  return nullptr;
}

void give(Request& r, const Option& o, std::string_view text) {
  o.field.read(r, text, o.flag);
  r.given.push_back(o.flag);
}

json::Value inputs_json(const Request& r) {
  json::Value v;
  for (const Option& o : options()) {
    if ((o.parts & r.parts) == 0 || o.field.effective == nullptr) continue;
    if (json::Value effective = o.field.effective(r); !effective.is_null()) v[o.key()] = std::move(effective);
  }
  return v;
}

std::string given_text(const Request& r, std::initializer_list<std::string_view> besides) {
  std::vector<std::string_view> said(besides);
  const json::Value inputs = inputs_json(r);
  std::string s;
  for (const std::string_view flag : r.given) {
    if (std::find(said.begin(), said.end(), flag) != said.end()) continue;
    said.push_back(flag);
    const Option& o = *find_option(flag);
    if ((o.parts & ~(part::styles | part::exact)) == 0) continue;
    const auto value = inputs.find(o.key());
    s += " " + std::string(flag);
    if (!o.value.empty() && value != inputs.end())
      s += " " + (value->is_string()         ? shell_word(value->get<std::string>())
                  : value->is_number_float() ? fmt::format("{}", value->get<double>())
                                             : value->dump());
  }
  return s;
}

}  // namespace llmcalc
