#include "report/model/model_sections.hpp"

#include <fmt/format.h>

#include <array>

#include "ask/request/low_precision.hpp"
#include "ask/request/machine.hpp"
#include "ask/request/options/option_values.hpp"
#include "ask/request/request.hpp"
#include "ask/request/software.hpp"
#include "ask/request/stack_defaults.hpp"
#include "calc/parallel/vocabulary.hpp"
#include "calc/pipeline/schedule.hpp"
#include "presets/formats/weight_formats.hpp"
#include "presets/unknown_keys.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/train/host_notes.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

double share(Count part, Count whole) { return static_cast<double>(part) / static_cast<double>(whole); }

std::string_view pairs_text(AttentionFlops convention) {
  if (convention == AttentionFlops::full) return "full: S x S pairs";
  return convention == AttentionFlops::causal_half ? "causal-half: S x S / 2 pairs"
                                                   : "causal-exact: S (S + 1) / 2 pairs";
}

}  // namespace

json::Value model_json(const ModelCard& card) {
  json::Value v{{"name", card.name}, {"source", card.source}};
  if (!card.title.empty()) v["title"] = card.title;
  if (card.published) v["published_parameters"] = *card.published;
  if (!card.published_source.empty()) v["published_source"] = card.published_source;
  if (card.stored) v["stored_parameters"] = *card.stored;
  return v;
}

json::Value hardware_json(const HardwareCard& card) {
  json::Value v{{"name", card.name},
                {"source", card.source},
                {"memory_bytes", card.cluster.device.memory.value},
                {"memory_bytes_per_s", card.cluster.device.bandwidth.value}};
  for (std::size_t i = 0; i < peak_count; ++i)
    if (card.cluster.device.peaks[i].value > 0)
      v["peak_flops"][std::string(peak_names[i])] = card.cluster.device.peaks[i].value;
  const auto link = [&](const char* key, const Link& l) {
    if (l.bandwidth.value <= 0) return;
    v[key] = {{"bytes_per_s", l.bandwidth.value}};
    if (l.latency.value > 0) v[key]["latency_s"] = l.latency.value;
    if (l.ranks > 1) v[key]["ranks"] = l.ranks;
    if (l.reduces) v[key]["reduces"] = true;
    for (const TorusAxis& a : l.torus) v[key]["torus"].push_back(a.ranks);
  };
  constexpr std::array names{"link", "network", "spine"};
  for (std::size_t i = 0; i < card.cluster.levels.size(); ++i) link(names[i], card.cluster.levels[i]);
  if (!card.achieved_how.empty()) v["achieved"] = card.achieved_how;
  return v;
}

json::Value machine_json(const Request& r) {
  if (r.machine.empty()) return hardware_json(*r.hardware);
  json::Value v{
      {"name", r.hardware->word}, {"source", "preset or file of each device"}, {"devices", json::Value::array()}};
  for (const HardwareCard& card : r.machine) v["devices"].push_back(hardware_json(card));
  return v;
}

namespace {
/// The label of the model's token mixers.
const char* mixer_label(const Arch& a) {
  bool attends = false, recurs = false;
  for (const LayerKind& kind : layer_kinds(a)) {
    const Mixer& m = a.mixer(kind.mixer);
    attends = attends || m.attention != AttentionKind::none;
    recurs = recurs || m.recurrent.kind != RecurrentKind::none;
  }
  if (!recurs) return "attention";
  return attends ? "attention, recurrences" : "recurrences";
}
}  // namespace

namespace {
void add_media_encoders(Section& s, const MediaEncoders& t) {
  const auto part = [&](const char* key, const char* label, Count n) {
    if (n > 0) s.add(key, label, n, Unit::parameters, "not in the total");
  };
  part("vision", "vision encoder", t.vision);
  part("audio", "audio encoder", t.audio);
  part("projector", "projector", t.projector);
  part("cross", "image cross-attention", t.cross);
}
}  // namespace

Section parameters_section(const ModelCard& card) {
  const Parameters p = parameters(card.arch);
  Section s{"parameters", "parameters", {}};
  const auto part = [&](const char* key, const char* label, Count n) {
    s.add(key, label, n, Unit::parameters, fmt::format("{:5.1f} %", 100 * share(n, p.total)));
  };
  part("embedding", "token embedding", p.embedding);
  part("position", "positions", p.position);
  part("attention", mixer_label(card.arch), p.attention);
  part("mlp", card.arch.has_experts() ? "MLP and experts" : "MLP", p.mlp);
  part("norm", "norms", p.norm);
  part("lm_head", "head", p.lm_head);
  s.add("total", "total", p.total, Unit::parameters, card.arch.tied_head ? "tied head counted once" : "");
  s.add("active", "active per token", p.active, Unit::parameters,
        card.arch.has_experts() ? fmt::format("{} of {} experts", card.arch.moe.top_k, card.arch.moe.experts) : "");
  if (const Moe& m = card.arch.moe; m.zero_experts > 0) {
    s.add(
        "active_mean", "  mean", p.active_mean, Unit::parameters,
        fmt::format("{} choices among {} experts, {} of them identity experts", m.top_k, m.choices(), m.zero_experts));
    s.add("active_least", "  minimum", p.active_least, Unit::parameters, "as many identity experts as possible");
  }
  s.add("non_embedding", "non-embedding", p.non_embedding, Unit::parameters, "Kaplan: no table, positions, head");
  s.add("matmul", "in matmuls", p.matmul_active, Unit::parameters, "per token; includes the head, excludes tables");
  if (const Mtp& m = card.arch.mtp; m.modules > 0)
    s.add("mtp", m.modules == 1 ? "MTP module" : fmt::format("{} MTP modules", m.modules),
          mtp_parameters(card.arch).total, Unit::parameters, "multi-token prediction; not in the total");
  add_media_encoders(s, card.media_encoders);
  if (card.arch.tied_head)
    s.add("with_stored_head", "with a stored head", add(p.total, mul(card.arch.vocabulary, card.arch.embedding_width)),
          Unit::parameters, "if the checkpoint stores it twice");
  if (card.published)
    s.add("published", "published", *card.published, Unit::parameters,
          *card.published == p.total ? "equal" : "differs");
  return s;
}

Section kv_cache_section(const Request& r) {
  const Plan& p = r.plan;
  const Count context = add(p.prompt, p.generate);
  const Bytes sequence = cache_bytes(r.model.arch, p, context, r.layout);
  Section s{"kv_cache", has_stages(r) ? "KV cache, all GPUs" : "KV cache, per GPU", {}};
  s.add("elements_per_token", "elements per token", cache_elements_per_token(r.model.arch, p.mtp), Unit::none,
        "whole model, all layers");
  s.add("bytes_per_token", "per token", cache_bytes_per_token(r.model.arch, p, r.layout), cache_text(p.kv_precision));
  const Bytes each = cache_bytes_per_token(r.model.arch, p, r.layout),
              growing = growing_cache_bytes(r.model.arch, p, r.layout);
  s.add("growing_bytes_per_token", growing == each ? "" : "  per additional token", growing,
        "once windows and chunks are full");
  s.add("bytes_per_sequence", "per sequence", sequence, fmt::format("of {} tokens", context));
  // For encoder-decoder models, the cache rows that do not grow are the encoder's output, not states.
  const Bytes states = r.model.arch.is_encoder_decoder() ? Bytes() : cache_bytes(r.model.arch, p, 0, r.layout);
  if (states != Bytes()) s.add("state_bytes", "  including states", states, "fixed size");
  s.add("bytes_total", "total", p.kv_cache ? p.batch * sequence : Bytes(),
        p.kv_cache ? counted(p.batch, "sequence") : "no cache");
  const std::optional<Count> equal = cache_equals_weights_context(r.model.arch, p, r.layout);
  if (equal) s.add("equals_weights_context", "exceeds weights from", *equal, Unit::tokens, "of context, at this batch");
  return s;
}

json::Value conventions_json(const Request& r) {
  const Plan& p = r.plan;
  json::Value all = {
      {"parameters", "trainable tensors, tied head once; buffers and router correction biases are not parameters"},
      {"multiply_add", "2 FLOPs; element-wise work counts by its bytes, not in FLOPs"},
      {"attention_flops", pairs_text(p.attention_flops)},
      {"executed", p.attention == AttentionImpl::flash ? "flash: causal pairs; scores recomputed in backward"
                                                       : "naive: S x S pairs"},
      {"activations", "the input of every operator is saved once; masks take 1 byte"},
      {"memory", "on the most loaded GPU; GiB = 2^30 bytes"},
      {"roofline", p.roofline == Roofline::op
                       ? "sum over operators of max(FLOPs / peak, bytes / bandwidth)"
                       : "max(FLOPs / peak, bytes / bandwidth) of the step; its bytes are weights and cache"},
      {"limits", "weights, cache, workspace and process memory, compared with --memory-utilization of the device"},
      {"peak", fmt::format("dense {}", p.precision.name())}};
  if (traits(p.optimizer).orthogonalizes && r.has(part::training | part::formulas))
    all["optimizer"] =
        "Muon: momentum of the block matrices, each orthogonalized in bf16 (4 m^2 n + 2 m^3 FLOPs per iteration, m <= "
        "n, each expert separately); AdamW for token embedding, head, positions, norms and biases";
  return all;
}

namespace {
/// Whether Muon's ranks gather sharded matrices.
bool gathers_matrices(const Request& r) {
  const Layout& l = r.layout;
  const bool sharded = l.zero != Zero::none && (shards(l, ParameterClass::dense) || shards(l, ParameterClass::experts));
  return traits(r.plan.optimizer).orthogonalizes && r.has(part::step) && (sharded || ranks(l, Group::tensor) > 1);
}
}  // namespace

namespace {
/// Number of parts into which context-parallel ranks split each document; 1 without a split.
Count document_parts(const Layout& l) {
  const Count n = ranks(l, Group::context);
  return n == 1 || l.context_method == ContextMethod::ulysses ? 1 : mul(2, n);
}

/// Adds notes on lengths that frameworks reject or pad, and on how the engine counts them.
void add_lengths(const Request& r, Notes& n) {
  const Layout& l = r.layout;
  const Count shared = mul(ranks(l, Group::tensor), ranks(l, Group::context));
  if (sequence_parallel(l) && r.plan.seq % shared != 0)
    n.push_back(
        {"sequence_not_divisible",
         fmt::format("Megatron-LM rejects --seq {} under --sp, because {} ranks do not divide it; the rank with the "
                     "most tokens is counted",
                     r.plan.seq, shared)});
  const Count parts = document_parts(l);
  for (const DocumentRun& d : r.plan.documents)
    if (d.length % parts != 0)
      return n.push_back({"documents_not_divisible",
                          fmt::format("documents of {} tokens do not split into {} equal parts, two per rank of --cp: "
                                      "TransformerEngine pads them; here, ranks share their pairs evenly",
                                      d.length, parts)});
}
}  // namespace

namespace {
/// Adds notes on pipeline rules that affect memory or time.
void add_pipeline_rules(const Request& r, Notes& n) {
  const Layout& l = r.layout;
  if (accumulates_gradients(l) && shares_parameters(l))
    n.push_back(
        {"zero_2_in_pipeline",
         "ZeRO 2 in a pipeline: a rank accumulates the full gradients of its stage and reduces them once per step, as "
         "under ZeRO 1; until then they stay in the gradient buckets"});
  if (r.has(part::step) && validates_after(l.schedule) && ranks(l, Group::pipeline) > 1)
    n.push_back(
        {"update_before_validation",
         fmt::format("{}: a rank updates as soon as its own gradients are reduced, and the global norm is validated in "
                     "the next step (arXiv:2401.10241, section 4); the time is from step to step",
                     name(l.schedule))});
}
}  // namespace

namespace {
/// A note on whether the numbers include vision and audio encoders.
std::string media_encoders_note(const Request& r) {
  const bool loaded = r.has(part::inference) && r.plan.media_encoders + r.plan.cut_media_encoders > Bytes();
  return fmt::format("vision and audio encoders have {} parameters in addition to the text model, {}; {}",
                     r.model.media_encoders.total(), bytes_text(r.model.media_encoders.bytes()),
                     loaded ? "only inference memory counts them" : "they are not counted here");
}
}  // namespace

namespace {
/// Adds notes on groups and runs that do not fill nodes evenly.
void add_nodes(const Request& r, Notes& n) {
  const Cluster& c = r.hardware->cluster;
  const Count node = c.levels.empty() ? 0 : c.levels[0].ranks;
  const Count all = devices(r.layout), together = ranks(r.layout, Group::tensor);
  if (node <= 1 || all <= node) return;
  if (together > node)
    n.push_back(
        {"tensor_ranks_span_nodes",
         fmt::format("{} ranks do not fit in one node of {}: they communicate over the network", together, node)});
  else if (together > 1 && !is_inside(c, r.layout, Group::tensor))
    n.push_back(
        {"tensor_ranks_cross_nodes",
         fmt::format("nodes of {} do not divide evenly into groups of {} tensor-parallel ranks: some groups span two "
                     "nodes and communicate over the network, and a step waits for them",
                     node, together)});
  const Count nodes = ceil_div(all, node);
  if (all % node == 0) return;
  n.push_back(
      {"partial_last_node",
       fmt::format("the {} devices fill nodes of {} in order, and the last node has {}{}", all, node, all % node,
                   all % nodes != 0 ? ""
                                    : fmt::format("; if each of the {0} nodes has {1}, use a hardware file whose link "
                                                  "connects {1} ('llmcalc show {2}' prints a template)",
                                                  nodes, all / nodes, r.hardware->name))});
}
}  // namespace

std::string weights_text(const Request& r) {
  const WeightFormats& w = r.plan.weight_precision;
  const bool own = w == r.model.weights && !r.gave("--weight-precision");
  return weight_formats_text(w) + (own ? ", as in the checkpoint" : "");
}

std::string media_encoder_place(const Plan& plan) {
  return plan.cut_media_encoders == Bytes()
             ? "for images and audio, replicated on every GPU"
             : "for images and audio, replicated on every GPU except for layers, which TP shards";
}

namespace {
/// The note on vocabulary rows that a training stack adds; empty without padding.
std::string vocabulary_note(const Request& r) {
  const Count rows = r.model.arch.vocabulary, padded = padded_vocabulary(r.model.arch, r.layout);
  if (!r.has(part::training) || padded == rows) return "";
  return fmt::format(
      "training pads the vocabulary from {} to {} rows, a multiple of {} on each tensor-parallel rank, as "
      "{} does",
      rows, padded, r.layout.vocabulary_multiple, r.software ? r.software->name : std::string(usual_software(r)));
}
}  // namespace

Note formats_of_matmuls(const Request& r) { return {"matmul_formats", formats_note(r)}; }

Notes notes(const Request& r) {
  Notes n;
  add_notes(n, "model_caveat", r.model.caveats);
  if (r.model.media_encoders != MediaEncoders() && r.has(part::training | part::inference))
    n.push_back({"media_encoders", media_encoders_note(r)});
  const Plan& p = r.plan;
  if (const Count modules = r.model.arch.mtp.modules;
      modules > 0 && p.mtp == 0 && r.has(part::training | part::inference))
    n.push_back({"mtp_not_counted", fmt::format("{} {} not counted; --mtp {} counts {}",
                                                modules == 1 ? "an MTP module" : fmt::format("{} MTP modules", modules),
                                                modules == 1 ? "is" : "are", modules, modules == 1 ? "it" : "them")});
  if (p.weight_precision == r.model.weights && !p.weight_precision.uniform())
    n.push_back(
        {"checkpoint_formats", fmt::format("weights are stored as in the checkpoint: {}; training keeps them in {}",
                                           weight_formats_text(p.weight_precision), training_weights(p).name())});
  add_note(n, formats_of_matmuls(r));
  if (!r.weights_given.note.empty()) n.push_back({"weight_precision_read", r.weights_given.note});
  add_note(n, {"stack_defaults", stack_defaults_text(r)});
  if (r.has(part::training)) add_lengths(r, n);
  if (r.has(part::training)) add_pipeline_rules(r, n);
  add_note(n, {"vocabulary_padding", vocabulary_note(r)});
  if (gathers_matrices(r))
    n.push_back(
        {"muon_gathers",
         "Muon is exact: ranks gather sharded matrices in bf16; ranks that shard optimizer states distribute whole "
         "matrices, and tensor-parallel ranks duplicate the work"});
  add_note(n, {"unknown_config_keys", unknown_keys_note(r.model)});
  if (r.hardware) {
    if (r.hardware->unsourced > 0)
      n.push_back({"unsourced_hardware", fmt::format("{} of {} without a source",
                                                     counted(r.hardware->unsourced, "number"), r.hardware->name)});
    const Cluster& c = r.hardware->cluster;
    const Count together = ranks(r.layout, Group::tensor);
    add_note(n, host_updates_note(r));
    add_note(n, host_memory_note(r, most_on_host(r)));
    const Link link = group_link(c, r.layout, Group::tensor);
    if (together > 1 && link.latency.value == 0)
      n.push_back({"latency_unknown", fmt::format("link latency of {} is unknown and counts as 0", r.hardware->name)});
    add_nodes(r, n);
  }
  return n;
}

}  // namespace llmcalc
