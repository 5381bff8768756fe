#include "evidence/convert/training/training_row.hpp"

#include <fmt/format.h>

#include "evidence/names/words.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Reads a required size.
Count needed(const RowObject& o, std::string_view key) {
  if (const auto n = o.positive(key)) return *n;
  throw InputError(fmt::format("{}: {} is missing; every measurement requires it", o.where(), in_quotes(key)));
}

/// Size under the first of `keys` that has one. Reads every key, so that all of them count as known.
std::optional<Count> size_under(const RowObject& o, std::initializer_list<std::string_view> keys) {
  std::optional<Count> size;
  for (const std::string_view key : keys)
    if (const auto said = o.count(key); said && !size) size = said;
  return size;
}

std::optional<Count> positive_under(const RowObject& o, std::initializer_list<std::string_view> keys) {
  std::optional<Count> size;
  for (const std::string_view key : keys)
    if (const auto said = o.positive(key); said && !size) size = said;
  return size;
}

/// Reads the number of leading dense layers. Some rows list these layers: [0, 1, 2] means three. Any other list is
/// stored as text.
void read_dense_layers(const RowObject& o, MoeRow& moe) {
  const std::string said = o.said("dense_layers");
  if (!said.starts_with('[')) {
    moe.dense_layers = size_under(o, {"dense_layers", "first_dense_layers", "first_k_dense_replace"});
    return;
  }
  std::string first = "[";
  for (Count i = 0; first.size() <= said.size(); ++i) {
    first += fmt::format("{}{}", i == 0 ? "" : ",", i);
    if (first + "]" == said) moe.dense_layers = i + 1;
  }
  if (!moe.dense_layers) moe.dense_said = said;
}

/// Reads "moe" with the key names of training rows, inference rows or config.json. False and {} mean a dense model.
std::optional<MoeRow> read_moe(const RowObject& model) {
  if (model.said("moe").empty()) return std::nullopt;
  const RowObject o = model.object("moe");
  MoeRow moe;
  const auto experts = size_under(o, {"experts", "num_experts", "n_routed_experts", "num_local_experts"});
  moe.experts = experts.value_or(0) > 0 ? *experts : needed(o, "experts");
  moe.top_k = positive_under(o, {"top_k", "experts_per_token", "num_experts_per_tok"});
  moe.expert_ffn = positive_under(o, {"expert_ffn", "moe_ffn", "moe_intermediate_size"});
  moe.shared_experts = size_under(o, {"shared_experts", "n_shared_experts"});
  moe.shared_ffn = size_under(o, {"shared_ffn", "shared_expert_ffn"});
  read_dense_layers(o, moe);
  moe.every = positive_under(o, {"every", "moe_every"});
  moe.capacity_factor = o.quantity("capacity_factor");
  o.finish();
  return moe;
}

/// Reads latent attention: its widths or, if these are missing, the words "latent attention" in the attention type.
void read_mla(const RowObject& model, TrainingModel& m) {
  const std::string said = model.said("mla");
  if (said.empty()) return;
  if (said.starts_with('{')) {
    const RowObject o = model.object("mla");
    m.mla = read_latent_widths(o);
    o.finish();
  }
  if (!m.mla && !Words(said).says_no())
    m.attention_type += m.attention_type.empty() ? "latent attention" : ", latent attention";
}

void read_model(const RowObject& o, TrainingModel& m) {
  m.name = o.text("name");
  m.layers = needed(o, "layers");
  m.hidden = needed(o, "hidden");
  m.heads = needed(o, "heads");
  m.kv_heads = o.positive("kv_heads");
  m.head_dim = o.positive("head_dim");
  m.ffn_hidden = o.count("ffn_hidden");
  m.vocab = o.positive("vocab");
  m.seq_len = o.positive("seq_len");
  m.params_reported = o.positive("params_reported");
  m.glu = o.flag("glu");
  m.tied_embeddings = o.flag("tied_embeddings");
  m.embed_layernorm = o.flag("embed_layernorm");
  m.qkv_bias = o.flag("qkv_bias");
  m.parallel_residual = o.flag("parallel_residual");
  m.attention_type = o.text("attention_type");
  m.positional = o.text("positional");
  m.activation = o.text("activation");
  m.mtp = o.said("mtp");
  m.moe = read_moe(o);
  m.sliding_window = o.positive("sliding_window");
  for (const char* key : {"sliding_window_pattern", "sliding_pattern"})
    if (const std::string said = o.said(key); !said.empty()) m.sliding_pattern = said;
  read_mla(o, m);
  m.config = o.config("config");
  o.known({"vocab_note"});
  o.finish();
}

void read_hardware(const RowObject& o, TrainingHardware& h) {
  h.gpu = o.text("gpu");
  if (h.gpu.empty()) throw InputError(o.where() + ": \"gpu\" is missing; a measurement must state its device");
  h.memory_gb = device_memory(o, "gpu_memory_gb");
  h.peak_bw_gb_s = o.quantity("peak_bw_gb_s");
  h.count = needed(o, "count");
  h.nodes = o.positive("nodes");
  h.gpus_per_node = o.positive("gpus_per_node");
  h.intra_node = o.text("intra_node");
  h.inter_node = o.text("inter_node");
  o.known({"links", "note"});
  o.finish();
}

std::vector<std::string> listed_flags(const RowObject& o, std::string_view key) {
  std::vector<std::string> out;
  if (const std::string said = o.said(key); !said.empty()) out.push_back(said);
  return out;
}

/// Reads a flag that some rows state in words: "userbuffers" is a kind of overlap and means true; "none" means false.
std::optional<bool> said_flag(const RowObject& o, std::string_view key) {
  if (!o.has(key)) return std::nullopt;
  const Words words(o.said(key));
  if (words.silent() && !o.said(key).empty()) return std::nullopt;
  return !words.silent() && !words.says_no() && words.all()[0] != "no";
}

void read_parallelism(const RowObject& o, TrainingParallelism& p) {
  p.tp = o.positive("tp");
  p.pp = o.positive("pp");
  p.vp = o.positive("vp");
  p.cp = o.positive("cp");
  p.ep = o.positive("ep");
  p.etp = o.positive("etp");
  p.dp = o.positive("dp");
  p.zero_stage = o.count("zero_stage");
  if (p.zero_stage.value_or(0) > 3)
    throw InputError(fmt::format("{}, \"zero_stage\": expected 0 to 3, got {}", o.where(), *p.zero_stage));
  p.sp = o.flag("sp");
  p.fsdp = o.flag("fsdp");
  p.async_tp = said_flag(o, "async_tp");
  p.tp_comm_overlap = said_flag(o, "tp_comm_overlap");
  for (const auto& [key, text] : {std::pair{"schedule", &p.schedule},
                                  {"fsdp_strategy", &p.fsdp_strategy},
                                  {"layer_split", &p.layer_split},
                                  {"partition", &p.partition},
                                  {"pp_layout", &p.pp_layout},
                                  {"pp_balance", &p.pp_balance},
                                  {"fsdp_group", &p.fsdp_group},
                                  {"zero_group", &p.zero_group},
                                  {"cp_comm", &p.cp_comm},
                                  {"offload", &p.offload},
                                  {"note", &p.note}})
    *text = o.said(key);
  p.shard_flags = listed_flags(o, "shard_flags");
  o.finish();
}

void read_batch(const RowObject& o, TrainingBatch& b) {
  b.micro = o.positive("micro");
  b.global = o.positive("global");
  b.grad_accum = o.positive("grad_accum");
  b.tokens_per_step = o.positive("tokens_per_step");
  b.local_batch = o.positive("local_batch");
  o.known({"table_grad_accum", "num_microbatches"});
  o.finish();
}

void read_measured(const RowObject& o, TrainingMeasured& m) {
  for (const auto& [key, value] : {std::pair{"iteration_time_s", &m.iteration_time_s},
                                   {"tokens_per_s", &m.tokens_per_s},
                                   {"tokens_per_s_per_gpu", &m.tokens_per_s_per_gpu},
                                   {"samples_per_s", &m.samples_per_s},
                                   {"samples_per_s_per_gpu", &m.samples_per_s_per_gpu},
                                   {"tflops_per_gpu", &m.tflops_per_gpu},
                                   {"layer_total_ms", &m.layer_total_ms},
                                   {"memory_per_gpu_gb", &m.memory_per_gpu_gb},
                                   {"memory_per_gpu_gib", &m.memory_per_gpu_gib},
                                   {"memory_allocated_gib", &m.memory_allocated_gib},
                                   {"memory_allocated_bytes", &m.memory_allocated_bytes}})
    *value = o.quantity(key);
  m.mfu = o.fraction("mfu");
  m.hfu = o.fraction("hfu");
  m.tflops_kind = o.text("tflops_kind");
  m.memory_kind = o.text("memory_kind");
  o.known({"days_for_300B_tokens", "profiled_stage_ms", "profiled_from", "run_spread", "max_allocated_mib_by_rank",
           "speed_of_light_fraction", "iteration_time_kind", "gpu_hours", "gpu_hours_per_trillion_tokens",
           "derived_from_tflops", "rl_step_time_s"});
  o.known_beginning("layer_");
  o.finish();
}

}  // namespace

std::optional<MlaRow> read_latent_widths(const RowObject& o) {
  const auto q = size_under(o, {"q_lora_rank", "q_lora"}), kv = size_under(o, {"kv_lora_rank", "kv_lora"}),
             nope = size_under(o, {"qk_nope_head_dim", "qk_nope"}),
             rope = size_under(o, {"qk_rope_head_dim", "qk_rope"}), v = size_under(o, {"v_head_dim", "v"});
  if (kv.value_or(0) < 1 || nope.value_or(0) < 1 || v.value_or(0) < 1) return std::nullopt;
  return MlaRow{q.value_or(0), *kv, *nope, rope.value_or(0), *v};
}

RowSource read_source(const RowObject& row) {
  const RowObject o = row.object("source");
  RowSource s{o.text("title"), o.text("url"), o.text("table"), o.text("how"), o.text("confidence")};
  o.known({"licence"});
  o.finish();
  return s;
}

TrainingRow read_training_row(const RowObject& row, const std::string& id) {
  TrainingRow r;
  r.id = id;
  r.where = row.where();
  r.source = read_source(row);
  r.family = row.text("family");
  if (r.family.empty()) r.family = r.source.title;
  for (const char* key : {"stack", "framework", "software"})
    if (const std::string said = row.text(key); !said.empty()) r.software = said;
  for (const auto& [key, text] : {std::pair{"precision", &r.precision},
                                  {"recompute", &r.recompute},
                                  {"attention", &r.attention},
                                  {"flops_convention", &r.flops_convention},
                                  {"optimizer", &r.optimizer},
                                  {"software_version", &r.software_version},
                                  {"scope", &r.scope},
                                  {"quality", &r.quality},
                                  {"date", &r.date},
                                  {"notes", &r.notes}})
    *text = row.said(key);
  if (row.is_false("recompute")) r.recompute = "none";
  r.assumed = row.said("assumed");
  for (const char* key : {"lora", "lora_rank", "lora_targets", "adapters"})
    if (const std::string said = row.said(key); !said.empty()) r.adapters += fmt::format("{} {}; ", key, said);
  read_model(row.object("model"), r.model);
  read_hardware(row.object("hardware"), r.hardware);
  read_parallelism(row.object("parallelism"), r.parallelism);
  read_batch(row.object("batch"), r.batch);
  read_measured(row.object("measured"), r.measured);
  r.activation_offload_layers = row.amount("activation_offload_layers");
  r.offload_alpha = row.amount("offload_alpha");
  const RowObject derived = row.object("derived");
  r.derived_iteration_time_s = derived.quantity("iteration_time_s");
  r.derived_tokens_per_s_per_gpu = derived.quantity("tokens_per_s_per_gpu");
  derived.known({"basis"});
  derived.finish();
  row.known({"derived_from_tflops", "attention_kernel", "parallelism_note", "rl", "container"});
  row.finish();
  return r;
}

}  // namespace llmcalc
