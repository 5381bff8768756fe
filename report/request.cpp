#include "report/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "calc/roofline.hpp"
#include "calc/route.hpp"
#include "calc/run.hpp"
#include "calc/train.hpp"
#include "presets/weight_formats.hpp"
#include "report/layout_check.hpp"
#include "report/measured_scale.hpp"
#include "report/modules_check.hpp"
#include "report/narrowed.hpp"
#include "report/nearest.hpp"
#include "report/offload.hpp"
#include "report/option_values.hpp"
#include "report/options.hpp"
#include "report/software.hpp"
#include "report/target_check.hpp"
#include "report/trained_check.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// The first of bf16, fp16, fp32 that the hardware multiplies in; bf16 without hardware.
DType default_precision(const Request& r) {
  if (!r.hardware) return dtypes::bf16;
  for (const DType t : {dtypes::bf16, dtypes::fp16, dtypes::fp32})
    if (r.hardware->cluster.device.peak(t).value > 0) return t;
  return dtypes::bf16;
}

/// Whether the blocks' products are in the format that a checkpoint quantises inputs to: where the hardware has a peak
/// for it. All others are in 16 bits, into which weights are dequantised as they are multiplied.
bool multiplies_as_stored(const Request& r) {
  const std::optional<DType>& stated = r.model.products;
  const bool own = stated && !r.has(part::training) && !r.gave("--weight-precision") && r.hardware;
  return own && !r.gave("--precision") && !r.usual_precision && r.hardware->cluster.device.peak(*stated).value > 0;
}

void settle_products(Request& r) {
  Plan& p = r.plan;
  p.working = default_precision(r);
  if (!r.gave("--precision")) p.precision = r.usual_precision.value_or(p.working);
  if (!multiplies_as_stored(r)) return;
  p.precision = *r.model.products;
  p.multiplied = r.model.product_parts;
}

/// As the checkpoint stores them, unless another precision is asked for and they are not quantised; the reference
/// transformer, whose precision is given by its use, keeps them in that.
WeightFormats default_weights(const Request& r, const Narrowed& narrowed) {
  const std::optional<WeightFormats>& stored = r.model.weights;
  if (stored && !r.usual_precision && !(r.gave("--precision") && stored->plain())) return *stored;
  WeightFormats w = working_format(r.plan);
  for (std::size_t c = 0; c < component_count; ++c)
    if (narrowed.has(static_cast<Component>(c))) w[static_cast<Component>(c)] = r.plan.precision;
  return w;
}

/// Engines load towers with the model, but for llama.cpp, which has them in a file of their own; the reference
/// transformer has none.
void settle_towers(Request& r) {
  const bool apart = r.engine && r.engine->name == "llama.cpp";
  const Towers t = r.loads_towers && !apart && !r.usual_precision ? r.model.towers : Towers();
  r.plan.cut_towers = t.cut_bytes();
  r.plan.towers = t.bytes() - t.cut_bytes();
}

void check_length(const Request& r, Count tokens, std::string_view option) {
  const Arch& a = r.model.arch;
  if (a.learned_rows() > 0 && tokens > a.learned_rows())
    throw InputError(fmt::format("{} {} is longer than the {} learned positions of {}; give at most {}", option, tokens,
                                 a.learned_rows(), r.model.name, a.learned_rows()));
}

/// Answers about inference are about a prompt and the tokens after it.
void check_generates(const Request& r, Parts parts) {
  const bool served = (parts & part::serving) != 0 && (parts & part::one_batch) == 0;
  if (r.model.arch.is_encoder_decoder() && served)
    throw InputError(
        fmt::format("{} has an encoder, and how a server mixes its prompts with decoding is not known; "
                    "'llmcalc infer' prices a batch alone",
                    r.model.name));
  if (r.model.arch.is_encoder_decoder() && !r.plan.kv_cache)
    throw InputError(
        fmt::format("{} has an encoder, whose keys and values every decoding step reads from the cache; "
                    "leave --no-kv-cache out",
                    r.model.name));
  if (r.model.arch.head.has_logits() && !r.model.arch.is_encoder()) return;
  throw InputError(fmt::format("{} {}: it reads a text and generates none token by token; ask for its training{}",
                               r.model.name,
                               r.model.arch.is_encoder() ? "sees a text both ways, as encoders do" : "has no head",
                               r.has(part::halves) ? ": add --train" : " ('llmcalc train', 'llmcalc memory --train')"));
}

/// Documents fill the sequence, and each has positions of its own.
void check_sequence(const Request& r) {
  const Plan& p = r.plan;
  if (p.documents.empty()) return check_length(r, p.seq, "--seq");
  if (tokens_in(p.documents) != p.seq)
    throw InputError(fmt::format("--documents {} are {} tokens, and a sequence has {} (--seq); make the two equal",
                                 documents_text(p.documents), tokens_in(p.documents), p.seq));
  for (const DocumentRun& d : p.documents) check_length(r, d.length, "--documents");
}

/// The sequences of a step are whole micro-batches, as many on every replica.
void check_batch(const Request& r) {
  const Plan& p = r.plan;
  const Count n = replicas(r.layout);
  const Count together = mul(p.micro_batch, n);
  if (p.global_batch % together == 0) return;
  const std::string nearest = nearest_multiples("--global-batch", p.global_batch, together);
  if (n == 1)
    throw InputError(
        fmt::format("--global-batch {} is not a multiple of --micro-batch {}; every optimizer step runs whole "
                    "micro-batches: give {}",
                    p.global_batch, p.micro_batch, nearest));
  throw InputError(fmt::format(
      "--global-batch {} is not a multiple of --micro-batch {} x {} replicas of the model; it is that of the "
      "whole run, and every replica runs whole micro-batches: give {}",
      p.global_batch, p.micro_batch, n, nearest));
}

/// Every group of ranks needs a link that joins it. No group may fit into the widest link and yet cross its border.
void check_links(const Request& r) {
  constexpr std::array groups{std::pair{Group::tensor, "--tp"}, std::pair{Group::context, "--cp"},
                              std::pair{Group::expert, "--ep"}, std::pair{Group::data, "--dp"},
                              std::pair{Group::pipeline, "--pp"}};
  const HardwareCard& h = *r.hardware;
  const auto refuse = [&](Count together, std::string_view option) {
    throw InputError(
        fmt::format("{} states no link that joins {} devices; {}, or give a hardware file that states one "
                    "('llmcalc show {}' prints a start)",
                    h.name, together, fewer_joined(r, option), h.name));
  };
  for (const auto& [group, option] : groups)
    if (const Count n = span(r.layout, group); n > 1 && joining_link(h.cluster, n).bandwidth.value <= 0)
      refuse(n, option);
  for (const auto& [group, option] : groups)
    if (ranks(r.layout, group) > 1 && group_link(h.cluster, r.layout, group).bandwidth.value <= 0)
      refuse(devices(r.layout), option);
}

void check_hardware(const Request& r) {
  const HardwareCard& h = *r.hardware;
  check_peak(r);
  check_links(r);
  if (!holds_choices(h.cluster, r.layout, r.model.arch.moe))
    throw InputError(
        fmt::format("--expert-nodes {} is too few: nodes of {} hold fewer experts than the {} to which {} "
                    "sends each token; give more nodes, or lower --ep",
                    r.layout.expert_nodes, h.name, r.model.arch.moe.top_k, r.model.name));
  if (r.layout.collectives == Collectives::in_network && !reduces(h.cluster))
    throw InputError(
        fmt::format("--collectives in-network needs switches that reduce, and no link of {} does; give another, or a "
                    "hardware file whose link or network says \"reduces\": true",
                    h.name));
}

/// A measured throughput at which the devices would execute more FLOPs than they can is a mistake.
void check_measured(const Request& r) {
  const double rate = *r.run.measured_tokens_per_s, share = share_of_peak(r, rate);
  if (share > 1)
    throw InputError(
        fmt::format("--measured-tokens-per-s {:g} is {:.4g} % of what {} {} can compute in {}; check it, --gpus and "
                    "--precision",
                    rate, 100 * share, devices(r.layout), r.hardware->name, r.plan.precision.name()));
}

/// A checkpoint's own formats are for inference; training takes what training_weights says.
void check_weights(const Request& r) {
  const WeightFormats& w = r.plan.weight_precision;
  if (!r.gave("--weight-precision") || w.plain() || w == r.model.weights) return;
  throw InputError(
      fmt::format("--weight-precision {} is for inference; training stores weights in fp32, fp16, bf16 or fp8",
                  weight_formats_text(w)));
}

/// Replicas of the model on the given GPUs.
Count replicas_on(Count available, const Request& r) {
  const Count replica = replica_devices(r.layout);
  if (r.gave("--dp") && devices(r.layout) != available)
    throw InputError(fmt::format("--gpus {} is not --tp x --cp x --pp x --dp = {}; leave one of them out", available,
                                 devices(r.layout)));
  const bool divides = available % replica == 0;
  if (!divides && flaw(r.model.arch, r.layout) == LayoutFlaw::heads) refuse_heads(r);
  if (!divides)
    throw InputError(
        fmt::format("--gpus {} is not a multiple of the {} GPUs that hold the model once (--tp x --cp x --pp); give {}",
                    available, replica, nearest_multiples("--gpus", available, replica)));
  return available / replica;
}

/// Chunks as the schedule has them, and the schedule that goes with several chunks.
void settle_schedule(Request& r) {
  Layout& l = r.layout;
  if (!r.gave("--schedule") && l.chunks > 1) l.schedule = Schedule::interleaved;
  if (!r.gave("--chunks")) l.chunks = std::max<Count>(1, fixed_chunks(l.schedule) == 0 ? 2 : fixed_chunks(l.schedule));
  if (ranks(l, Group::pipeline) == 1 && !r.searches_layouts) l.chunks = 1;
}

/// An option of parts that this answer does not have.
void refuse_other_part(const Request& r, const Option& o) {
  const bool trains = r.has(part::training), infers = r.has(part::inference);
  if (trains == infers) throw InputError(fmt::format("{} changes nothing in this answer; leave it out", o.flag));
  const std::string_view here = trains ? "training" : "inference", there = trains ? "inference" : "training";
  if (!o.instead.empty()) throw InputError(fmt::format("{} is for {}; for {} use {}", o.flag, there, here, o.instead));
  throw InputError(fmt::format("{} is for {}, and this is about {}; leave it out", o.flag, there, here));
}

bool spreads_experts(const Request& r, std::string_view option) {
  return option == "--expert-nodes" ? ranks(r.layout, Group::expert) > 1 : folds_experts(r.layout);
}

/// The condition for an option to have an effect, if model and plan leave it without one.
std::string_view lacking(const Request& r, const Option& o) {
  const Arch& a = r.model.arch;
  if (o.flag == "--mla" && a.attention != AttentionKind::latent)
    return "is for latent attention, which this model does not have; leave it out";
  if (o.flag == "--kv-precision" && !r.plan.kv_precision.uniform() && a.attention == AttentionKind::latent &&
      r.plan.mla != Mla::expanded)
    return "gives keys and values formats of their own, and latent attention caches one row for both; give one format";
  if (o.flag == "--no-towers" && r.model.towers.bytes() == Bytes())
    return "is for models with towers for images or sounds, and this one has none; leave it out";
  if (o.flag == "--mtp" && a.mtp.modules == 0 && r.plan.mtp > 0)
    return "is for modules that predict further tokens (MTP), which this model does not have; leave it out";
  if (o.flag == "--glu-store" && a.mlp != MlpKind::gated)
    return "is for gated MLPs, which this model does not have; leave it out";
  if (o.flag == "--recompute" && selected_modules(r.plan).has(RecomputeModule::up) &&
      a.attention != AttentionKind::latent)
    return "up is for latent attention, which this model does not have; leave it out";
  if (o.flag == "--ns-steps" && r.plan.optimizer != Optimizer::muon)
    return "is for muon, whose iterations it counts; add --optimizer muon, or leave it out";
  if (o.flag == "--optimizer" && r.plan.optimizer != Optimizer::muon && !r.has(part::training))
    return "changes FLOPs with muon alone; leave it out";
  const bool of_pipeline = o.flag == "--schedule" || o.flag == "--chunks" || o.flag == "--stage-layers";
  if (of_pipeline && r.gave("--pp") && ranks(r.layout, Group::pipeline) == 1)
    return "changes nothing with --pp 1; give a higher --pp, or leave it out";
  if (o.flag == "--etp" && !a.has_experts()) return "is for models with experts, and this one has none; leave it out";
  if (o.flag == "--ep" && !a.has_experts() && r.searches_layouts && ranks(r.layout, Group::expert) > 1)
    return "is for models with experts, and this one has none; leave it out";
  if (o.flag == "--etp" && !r.searches("--tp") &&
      ranks(r.layout, Group::expert_tensor) == ranks(r.layout, Group::tensor))
    return "is as many as --tp anyway; leave it out";
  const bool of_spread = o.flag == "--expert-nodes" || o.flag == "--expert-load";
  if (of_spread && (!a.has_experts() || (!r.searches("--ep") && !spreads_experts(r, o.flag))))
    return "is about experts that are spread over ranks; add --ep";
  if (o.flag == "--softmax-store" && r.plan.attention == AttentionImpl::flash)
    return "is about the scores that naive attention keeps; add --attention naive";
  return "";
}

/// A block of layers, or a group, that runs again is one of the model's.
void check_recomputation(const Request& r) {
  const Count layers = r.model.arch.layers;
  if (r.gave("--recompute") && r.plan.recompute == Recompute::full && r.plan.recompute_layers > layers)
    throw InputError(fmt::format("--recompute {} is about {} layers, and {} has {}; give at most {}:{}, or full",
                                 recomputation_text(r.plan), r.plan.recompute_layers, r.model.name, layers,
                                 name(r.plan.recompute_method), layers));
}

/// Layouts of training alone, in an answer that is about inference too.
void check_both_halves(const Request& r) {
  const std::string_view how = r.has(part::halves) ? "add --train" : "'llmcalc train' takes it";
  if (ranks(r.layout, Group::pipeline) > 1) throw InputError(fmt::format("--pp is for training; {}", how));
  if (ranks(r.layout, Group::context) > 1) throw InputError(fmt::format("--cp is for training; {}", how));
  if (folds_experts(r.layout)) throw InputError(fmt::format("--ep and --etp are for training; {}", how));
}

}  // namespace

bool Request::gave(std::string_view option) const {
  return std::find(given.begin(), given.end(), option) != given.end();
}

bool Request::searches(std::string_view option) const {
  constexpr std::array degrees{"--tp", "--cp", "--ep", "--pp", "--zero"};
  const bool tries = std::find(degrees.begin(), degrees.end(), option) != degrees.end();
  return searches_layouts && tries && !gave(option) && !(option == "--zero" && gave("--fsdp"));
}

void settle(Request& r) {
  Plan& p = r.plan;
  const Arch& a = r.model.arch;
  if (r.train && r.infer) r.train = r.infer = false;
  if (r.train) r.parts &= ~part::of_inference;
  if (r.infer) r.parts &= ~part::of_training;
  if (!r.gave("--seq")) p.seq = p.documents.empty() ? std::min(a.context, r.usual_seq) : tokens_in(p.documents);
  settle_products(r);
  p.weight_precision = settled(r.weights_given, default_weights(r, {}), a);
  if (!r.gave("--base-precision")) p.base_precision = default_weights(r, p.narrowed).formats_alone();
  if (!r.gave("--kv-precision")) p.kv_precision = working_format(p);
  if (!r.gave("--state-precision"))
    p.state_precision = p.master || p.precision.format().element_bits >= 32 ? dtypes::fp32 : working_format(p);
  settle_schedule(r);
  if (r.gpus && !r.searches_layouts) r.layout.dp = replicas_on(*r.gpus, r);
  if (!r.gave("--global-batch")) p.global_batch = mul(p.micro_batch, replicas(r.layout));
  if (!r.gave("--prompt") && a.learned_rows() > 0 && a.learned_rows() < p.prompt + p.generate)
    p.prompt = std::max<Count>(1, a.learned_rows() - p.generate);
  if (!r.gave("--memory-utilization") && p.memory_utilization == 1) p.memory_utilization = usual_utilization(r);
  settle_way_to_host(r);
  choose_software(r);
  if (r.has(part::training)) r.layout.vocabulary_multiple = vocabulary_multiple(r);
  settle_towers(r);
  if (!r.has(part::inference)) r = for_training(std::move(r));
  if (!r.has(part::training)) r = for_inference(std::move(r));
}

Request of_one_engine(Request r) {
  r.layout = one_engine(r.layout);
  return r;
}

Bytes process_bytes(const Request& r) { return r.hardware ? r.hardware->cluster.device.achieved.overhead : Bytes(); }

void check(const Request& r, Parts parts) {
  const Plan& p = r.plan;
  check_layout(r);
  check_modules(r);
  if ((parts & (part::training | part::formulas)) != 0) {
    check_sequence(r);
    check_trained(r);
    check_recomputation(r);
    check_narrowed(r);
  }
  if ((parts & part::training) != 0) {
    check_batch(r);
    check_pipeline(r);
    check_sharding(r);
    check_weights(r);
  }
  if ((parts & (part::training | part::inference)) != 0) check_offload(r, parts);
  if ((parts & part::serving) != 0) check_served_stages(r);
  if (r.has(part::inference) && r.has(part::training)) check_both_halves(r);
  if ((parts & part::inference) != 0) check_generates(r, parts);
  if ((parts & part::inference) != 0) check_length(r, add(p.prompt, p.generate), "--prompt plus --generate");
  if ((parts & part::time) != 0 && r.hardware) check_hardware(r);
  check_software(r, parts);
  if (r.target) check_target(r, parts);
  if ((parts & part::run) != 0 && r.run.mfu && r.run.measured_tokens_per_s)
    throw InputError("--mfu and --measured-tokens-per-s both say how fast the run is; leave one out");
  if ((parts & part::run) != 0 && r.hardware && r.run.measured_tokens_per_s) check_measured(r);
}

void refuse_ignored(const Request& r) {
  for (const std::string_view flag : r.given) {
    const Option& o = *find_option(flag);
    if (!r.has(o.parts)) refuse_other_part(r, o);
    if (!o.needs.empty() && !r.gave(o.needs) && !r.searches(o.needs) && r.has(find_option(o.needs)->parts))
      throw InputError(fmt::format("{} changes nothing without {}; add it, or leave {} out", flag, o.needs, flag));
    if (const std::string_view why = lacking(r, o); !why.empty()) throw InputError(fmt::format("{} {}", flag, why));
  }
}

}  // namespace llmcalc
