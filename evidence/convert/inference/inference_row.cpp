#include "evidence/convert/inference/inference_row.hpp"

#include <fmt/format.h>

#include "evidence/rows/figure.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

Count needed_size(const RowObject& o, std::string_view key) {
  if (const auto n = o.positive(key)) return *n;
  throw InputError(fmt::format("{}: {} is missing; every measurement requires it", o.where(), in_quotes(key)));
}

void read_arch(const RowObject& o, InferenceModel& m) {
  m.layers = needed_size(o, "layers");
  m.hidden = needed_size(o, "hidden");
  m.heads = needed_size(o, "heads");
  m.kv_heads = o.positive("kv_heads");
  m.head_dim = o.positive("head_dim");
  m.ffn = o.count("ffn");
  m.vocab = o.positive("vocab");
  m.sliding_window = o.positive("sliding_window");
  for (const char* key : {"sliding_window_pattern", "sliding_pattern"})
    if (const std::string said = o.said(key); !said.empty()) m.sliding_pattern = said;
  m.attention = o.said("attention");
  m.gated_mlp = o.flag("gated_mlp");
  m.tied_embeddings = o.flag("tied_embeddings");
  m.qkv_bias = o.flag("qkv_bias");
  m.parallel_block = o.flag("parallel_block");
  m.experts = o.positive("num_experts");
  m.top_k = o.positive("experts_per_token");
  m.moe_ffn = o.positive("moe_ffn");
  m.shared_experts = o.count("shared_experts");
  m.dense_layers = o.count("first_dense_layers");
  m.moe_every = o.positive("moe_every");
  for (const char* key : {"shared_ffn", "shared_expert_ffn"})
    if (const auto width = o.count(key)) m.shared_ffn = width;
  for (const char* key : {"linear_attention_layers", "mamba_layers", "ssm_state", "ssm_layers"})
    if (const std::string said = o.said(key); !said.empty() && said != "0") m.recurrent = true;
  m.mla = read_latent_widths(o);
  o.finish();
}

/// Whether "speculative" states no more than a case expresses: no drafts, or drafts by MTP modules.
bool is_plain_speculation(std::string_view key, const std::string& said) {
  return key == "speculative" && (said == "none" || said == "mtp");
}

/// Text of the keys for work beyond plain decoding and of all unknown keys.
std::string other_keys(const RowObject& o) {
  std::string told;
  for (const char* key : {"mtp", "speculative", "speculative_decoding", "speculative_config", "num_speculative_tokens",
                          "draft_model", "disaggregated", "cpu_offload_gb", "prefix_hit_rate", "enforce_eager"})
    if (const std::string value = o.said(key); !value.empty() && !is_plain_speculation(key, value))
      told += fmt::format("{}: {}; ", key, value);
  return told + o.finish();
}

/// Each of the following functions reads one object of a row and returns its other_keys().
std::string read_accelerator(const RowObject& o, InferenceHardware& h) {
  h.accelerator = o.text("accelerator");
  if (h.accelerator.empty())
    throw InputError(o.where() + ": \"accelerator\" is missing; a measurement must state its device");
  h.interconnect = o.text("interconnect");
  h.count = needed_size(o, "count");
  h.nodes = o.positive("nodes");
  h.gpu_cores = o.positive("gpu_cores");
  h.memory_gb = device_memory(o, "memory_gb");
  h.peak_bw_gb_s = o.quantity("peak_bw_gb_s");
  h.power_limit_w = o.quantity("power_limit_w");
  o.known({"note"});
  return other_keys(o);
}

/// Reads a length. If the row describes it in words, stores the words in `in_words` instead.
std::optional<double> length(const RowObject& o, std::string_view key, std::string& in_words) {
  const std::string said = o.said(key);
  if (!said.empty() && said.find_first_not_of("0123456789.eE+-") != std::string::npos) {
    in_words = said;
    return std::nullopt;
  }
  return o.amount(key);
}

/// Derives the missing prompt or answer length from `total`, their sum. If both are missing, `total` is the context.
void complete_lengths(const std::optional<double>& total, InferenceBatch& b) {
  if (!total) return;
  if (b.input_len && !b.output_len && *total >= *b.input_len)
    b.output_len = *total - *b.input_len;
  else if (b.output_len && !b.input_len && *total >= *b.output_len)
    b.input_len = *total - *b.output_len;
  else if (!b.input_len && !b.output_len && !b.context_len)
    b.context_len = total;
}

std::string read_requests(const RowObject& o, InferenceBatch& b) {
  b.kind = o.text("kind");
  b.scope = o.said("batch_scope");
  b.input_note = o.text("input_note");
  b.batch = o.quantity("batch");
  b.context_len = length(o, "context_len", b.context_said);
  for (const auto& [key, value] : {std::pair{"input_len", &b.input_len},
                                   {"output_len", &b.output_len},
                                   {"nominal_input_len", &b.nominal_input_len},
                                   {"nominal_output_len", &b.nominal_output_len},
                                   {"decode_context_mean", &b.decode_context_mean},
                                   {"cached_context", &b.cached_context},
                                   {"tokens_per_gpu", &b.tokens_per_gpu},
                                   {"num_requests", &b.num_requests},
                                   {"max_model_len", &b.max_model_len}})
    *value = o.amount(key);
  if (const auto depth = o.amount("context_depth"); depth && !b.cached_context) b.cached_context = depth;
  b.length_range_ratio = o.fraction("length_range_ratio");
  b.gpu_memory_utilization = o.fraction("gpu_memory_utilization");
  b.max_num_batched_tokens = o.positive("max_num_batched_tokens");
  b.max_num_seqs = o.positive("max_num_seqs");
  b.kv_limited_estimate = o.flag("kv_limited_estimate");
  if (const auto longest = o.amount("max_context"); longest && !b.max_model_len) b.max_model_len = longest;
  o.known({"length_distribution"});
  complete_lengths(o.amount("total_len"), b);
  return other_keys(o);
}

void read_pool(const RowObject& o, EnginePool& pool) {
  pool.tp = o.positive("tp").value_or(1);
  pool.ep = o.positive("ep").value_or(1);
  pool.engines = o.count("workers").value_or(0);
  pool.replicated_attention = o.flag("dp_attention").value_or(false);
  o.known({"gpus"});
  o.finish();
}

void read_pools(const RowObject& row, InferenceRow& r) {
  r.disaggregated = row.has("disaggregation");
  if (!r.disaggregated) return;
  const RowObject pools = row.object("disaggregation");
  read_pool(pools.object("prefill"), r.prefill);
  read_pool(pools.object("decode"), r.decode);
  pools.finish();
}

std::string read_figures(const RowObject& o, InferenceRow& r) {
  r.batch.block_size = o.positive("kv_block_size");
  for (const FigureKey& f : figure_keys()) {
    auto value = f.may_be_negative ? o.number(f.key) : o.quantity(f.key);
    if (!value) continue;
    if (f.quantity == FigureKind::utilization && *value > 100)
      throw InputError(
          fmt::format("{}, {}: expected at most 100 % of the peak, got {}", o.where(), in_quotes(f.key), *value));
    r.measured.emplace_back(f.key, *value);
  }
  r.prefill_suspect = o.flag("prefill_suspect").value_or(false);
  r.hardware.total_gib = o.quantity("total_gpu_gib");
  r.hardware.usable_gib = o.quantity("usable_gib");
  o.known({"layer_breakdown_ms", "fits"});
  return other_keys(o);
}

}  // namespace

InferenceRow read_inference_row(const RowObject& row, const std::string& id) {
  InferenceRow r;
  r.id = id;
  r.where = row.where();
  r.source = read_source(row);
  r.engine = row.said("engine");
  r.notes = row.said("notes");
  r.version = row.said("software_version");
  r.date = row.said("date");
  r.back_end = row.said("backend");
  r.batch.start = row.said("start");
  r.file_size_gib = row.quantity("file_size_gib");
  r.tier = row.said("tier");
  r.core = row.flag("core").value_or(false);
  const RowObject model = row.object("model"), quantization = row.object("quantization"), p = row.object("parallelism");
  r.model.name = model.text("name");
  read_arch(model.object("arch"), r.model);
  r.model.config = model.config("config");
  model.known({"variant"});
  model.finish();
  r.weights = quantization.said("weights");
  r.kv = quantization.said("kv");
  r.activations = quantization.said("activations");
  quantization.finish();
  r.other_keys = read_accelerator(row.object("hardware"), r.hardware);
  r.tp = p.positive("tp");
  r.pp = p.positive("pp");
  r.ep = p.positive("ep");
  r.dp = p.positive("dp");
  r.other_keys += other_keys(p);
  if (const auto limit = row.quantity("power_limit_w"); limit && !r.hardware.power_limit_w)
    r.hardware.power_limit_w = limit;
  row.known({"quality", "assumed", "container", "driver", "attention_kernel", "repeat_runs", "repeat_tpot_spread_pct",
             "avg_batch_size", "energy_per_token_j", "ttft_reported_ms", "tpot_reported_ms", "memory_note",
             "attention_dp"});
  read_pools(row, r);
  r.speculative = row.said("speculative");
  r.other_keys += read_requests(row.object("batch"), r.batch);
  r.other_keys += read_figures(row.object("measured"), r);
  if (const auto power = row.quantity("power_w")) r.measured.emplace_back("power_w", *power);
  r.other_keys += other_keys(row);
  return r;
}

}  // namespace llmcalc
