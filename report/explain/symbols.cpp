#include "report/explain/symbols.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "ask/request/prices.hpp"
#include "calc/parallel/vocabulary.hpp"
#include "calc/roofline.hpp"
#include "calc/textbook/sizes.hpp"
#include "report/question.hpp"
#include "report/train/run_section.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// A size of the model, the plan, the hardware or the run.
struct Size {
  std::string_view name, meaning;
  std::string (*value)(S);
};

std::string bytes_each(Count bits) { return number_text(static_cast<double>(bits) / 8); }
const Format& weight_format(S s) { return s.plan().weight_precision[Component::mlp].format(); }
const Format& keys_as_stored(S s) { return s.plan().kv_precision.keys.format(); }
const Format& values_as_stored(S s) { return s.plan().kv_precision.values.format(); }
Rates rates(S s) { return estimated_rates(s.device(), s.plan()); }
const char* either(bool first, const char* a, const char* b) { return first ? a : b; }

constexpr Size sizes[] = {
    {"L", "layers", [](S s) { return number_text(s.arch().layers); }},
    {"D", "hidden size", [](S s) { return number_text(s.arch().hidden); }},
    {"D_e", "width of the token embedding", [](S s) { return number_text(s.arch().embedding_width); }},
    {"n_h", "residual streams", [](S s) { return number_text(s.arch().streams); }},
    {"r_l", "rank of the branch parallel to attention", [](S s) { return number_text(s.arch().laurel_rank); }},
    {"V", "vocabulary size", [](S s) { return number_text(s.arch().vocabulary); }},
    {"V_T", "rows of the vocabulary on all tensor-parallel ranks, padded",
     [](S s) { return number_text(padded_vocabulary(s.arch(), s.layout())); }},
    {"K", "rows of the position embedding", [](S s) { return number_text(s.arch().position_rows); }},
    {"K_a", "rows of the learned positions in addition to relative ones",
     [](S s) { return number_text(s.arch().added_rows); }},
    {"n_T", "token types", [](S s) { return number_text(s.arch().token_types); }},
    {"D_p", "width of per-layer inputs", [](S s) { return number_text(s.arch().per_layer.width); }},
    {"V_p", "rows of the per-layer input table", [](S s) { return number_text(s.arch().per_layer.rows); }},
    {"n_E", "experts", [](S s) { return number_text(s.arch().moe.experts); }},
    {"n_I", "experts that return their input", [](S s) { return number_text(s.arch().moe.zero_experts); }},
    {"k", "mean experts per token", [](S s) { return number_text(s.arch().moe.visited()); }},
    {"k_r", "router choices per token", [](S s) { return number_text(s.arch().moe.top_k); }},
    {"F_e", "width of an expert", [](S s) { return number_text(s.arch().moe.width); }},
    {"D_l", "working width of routed experts", [](S s) { return number_text(s.arch().moe.latent_width); }},
    {"n_s", "shared experts", [](S s) { return number_text(s.arch().moe.shared_experts); }},
    {"F_s", "width of a shared expert", [](S s) { return number_text(s.arch().moe.shared_width); }},
    {"S", "tokens per sequence", [](S s) { return number_text(s.plan().seq); }},
    {"m", "micro-batches per optimizer step and replica",
     [](S s) { return number_text(micro_batches(s.plan(), s.layout())); }},
    {"n_r", "replicas of the model", [](S s) { return number_text(replicas(s.layout())); }},
    {"T", "tensor-parallel ranks", [](S s) { return number_text(ranks(s.layout(), Group::tensor)); }},
    {"T_d", "ranks across which cached tokens are sharded",
     [](S s) { return number_text(ranks(s.layout(), Group::cached)); }},
    {"d", "ranks that shard states", [](S s) { return number_text(ranks(s.layout(), Group::shard)); }},
    {"P", "pipeline ranks", [](S s) { return number_text(ranks(s.layout(), Group::pipeline)); }},
    {"gpus", "GPUs of the run", [](S s) { return number_text(devices(s.layout())); }},
    {"p", "bytes per activation", [](S s) { return bytes_each(working_format(s.plan()).format().element_bits); }},
    {"p_w", "bytes per weight", [](S s) { return bytes_each(weight_format(s).element_bits); }},
    {"b_g", "bytes per group of weights", [](S s) { return bytes_each(weight_format(s).group_bits); }},
    {"g_w", "weights per group", [](S s) { return number_text(weight_format(s).group); }},
    {"b_o", "bytes per outer group", [](S s) { return bytes_each(weight_format(s).outer_bits); }},
    {"g_o", "groups per outer group", [](S s) { return number_text(weight_format(s).outer); }},
    {"b_t", "bytes per tensor", [](S s) { return number_text(weight_format(s).tensor_bytes); }},
    {"p_g", "bytes per gradient", [](S s) { return number_text(s.plan().gradient_bytes); }},
    {"p_s", "bytes per optimizer moment",
     [](S s) { return bytes_each(s.plan().state_precision.format().element_bits); }},
    {"p_kv", "bytes per cached element, or per key element if values differ",
     [](S s) { return bytes_each(keys_as_stored(s).element_bits); }},
    {"b_kv", "bytes per group of cached elements, or of keys if values differ",
     [](S s) { return bytes_each(keys_as_stored(s).group_bits); }},
    {"g_kv", "cached elements per group, or keys if values differ",
     [](S s) { return number_text(keys_as_stored(s).group); }},
    {"b_ko", "bytes per outer group of cached elements, or of keys if values differ",
     [](S s) { return bytes_each(keys_as_stored(s).outer_bits); }},
    {"g_ko", "groups per outer group of cached elements, or of keys if values differ",
     [](S s) { return number_text(keys_as_stored(s).outer); }},
    {"p_v", "bytes per cached value", [](S s) { return bytes_each(values_as_stored(s).element_bits); }},
    {"b_v", "bytes per group of cached values", [](S s) { return bytes_each(values_as_stored(s).group_bits); }},
    {"g_v", "cached values per group", [](S s) { return number_text(values_as_stored(s).group); }},
    {"b_vo", "bytes per outer group of cached values", [](S s) { return bytes_each(values_as_stored(s).outer_bits); }},
    {"g_vo", "groups per outer group of cached values", [](S s) { return number_text(values_as_stored(s).outer); }},
    {"n_c", "chunks of the logits", [](S s) { return number_text(s.plan().logits.chunks); }},
    {"n_in", "prompt tokens", [](S s) { return number_text(s.plan().prompt); }},
    {"n_out", "tokens to generate", [](S s) { return number_text(s.plan().generate); }},
    {"c", "context: n_in + floor(n_out/2)", [](S s) { return number_text(s.plan().prompt + s.plan().generate / 2); }},
    {"M", "device memory, bytes", [](S s) { return number_text(s.device().memory.value); }},
    {"u", "usable fraction of device memory", [](S s) { return number_text(s.plan().memory_utilization); }},
    {"pi", "peak FLOP/s", [](S s) { return number_text(s.device().peak(s.plan().precision).value); }},
    {"f_pi", "fastest matmul of the software over the peak, above 1 with narrower products",
     [](S s) { return number_text(s.device().achieved.fastest); }},
    {"beta", "memory bandwidth, bytes/s", [](S s) { return number_text(s.device().bandwidth.value); }},
    {"e", "achieved fraction of the peak",
     [](S s) {
       return number_text(s.plan().efficiency.value_or(Device::of(s.device().achieved.matmul, s.plan().precision)));
     }},
    {"e_m", "achieved fraction of the bandwidth",
     [](S s) { return number_text(s.plan().memory_efficiency.value_or(s.device().achieved.memory)); }},
    {"e_l", "achieved fraction of the link", [](S s) { return number_text(s.device().achieved.links.inside); }},
    {"tau", "launch overhead per operator, s", [](S s) { return number_text(rates(s).launch.value); }},
    {"alpha", "link latency, s",
     [](S s) { return number_text(group_link(s.cluster(), s.layout(), Group::tensor).latency.value); }},
    {"beta_l", "link bandwidth, bytes/s one way",
     [](S s) { return number_text(group_link(s.cluster(), s.layout(), Group::tensor).bandwidth.value); }},
    {"omega", "overlapped fraction of communication", [](S s) { return number_text(hidden_inside(s.plan())); }},
    {"D_run", "tokens of the run", [](S s) { return number_text(s.request().run.tokens.value_or(0)); }},
    {"watts", "watts per GPU", [](S s) { return number_text(watts_of(s.request()).value_or(0)); }},
    {"PUE", "power of the data center over power of its machines",
     [](S s) { return number_text(s.request().run.pue); }},
    {"co2_per_kwh", "kg CO2 per kWh", [](S s) { return number_text(s.request().run.co2.value_or(0)); }},
    {"price", "price of a GPU-hour, USD", [](S s) { return number_text(price_of(s.request()).value_or(0)); }},
};

/// A size of the layers with one mixer. Symbols for the second mixer end in 2, and so on.
struct LayerSize {
  std::string_view name, meaning;
};
constexpr LayerSize layer_sizes[] = {
    {"L_p", "layers with this mixer"},
    {"L_f", "layers with full attention"},
    {"L_w", "layers with a window or chunks"},
    {"L_l", "layers with linear attention"},
    {"L_r", "layers with a recurrence"},
    {"L_d", "layers with a dense MLP"},
    {"L_m", "layers with experts"},
    {"L_k", "layers whose keys and values are read by later layers"},
    {"L_e", "layers followed by the final norm, except the last"},
    {"A", "query heads"},
    {"G", "key/value heads"},
    {"d_h", "head width"},
    {"r_q", "rank of the queries"},
    {"r_kv", "rank of keys and values"},
    {"d_n", "head width without positions"},
    {"d_r", "head width with rotary positions"},
    {"d_v", "head width of the values"},
    {"r_c", "tokens per pooled key"},
    {"A_o", "groups of heads in the output"},
    {"r_o", "rank of each group's output"},
    {"A_i", "indexer heads"},
    {"d_i", "width of the indexer's heads and key"},
    {"k_i", "keys selected by the indexer per query"},
    {"b_i", "tokens per block selected by the indexer"},
    {"W", "window, including the token itself"},
    {"W_c", "attention chunk, tokens"},
    {"F", "MLP width"},
    {"H", "heads, or channels, of the recurrence"},
    {"H_k", "key heads, or groups, of the recurrence"},
    {"d_p", "head width of the recurrence"},
    {"d_k", "key width, or state per channel, of the recurrence"},
    {"t_c", "convolution taps of the recurrence"},
    {"r_h", "inner rank of the recurrence"},
    {"r_a", "rank of the recurrence's learning rate"},
    {"r_g", "rank of the recurrence's gate"},
    {"r_v", "rank of the gate for an earlier layer's values"},
    {"r_m", "rank of the token-dependent mixing weights"},
    {"n_z", "learned log-decays of the recurrence"},
    {"c_h", "tokens per chunk of the recurrence's kernels"},
};
/// The meaning of a symbol of one of Arch::mlps: L_x, F_x and so on; empty for other symbols.
std::string mlp_meaning(std::string_view name) {
  const bool one = name.size() == 3 && textbook::mlp_letters.find(name[2]) != std::string_view::npos;
  if (one && name.starts_with("L_")) return "layers with an MLP of width F_" + std::string(name.substr(2));
  return one && name.starts_with("F_") ? "another MLP width" : "";
}
std::string layer_meaning(std::string_view name) {
  constexpr std::string_view own = "_own";  // suffix in textbook::own_sizes
  if (name == "L_own") return "layers with their own weights";
  if (name.ends_with(own)) {
    const std::string of = layer_meaning(name.substr(0, name.size() - own.size()));
    return of.empty() ? of : of + ", with their own weights";
  }
  for (const LayerSize& l : layer_sizes)
    if (l.name == name) return std::string(l.meaning);
  return mlp_meaning(name);
}
/// The meaning and value of a symbol whose name may end in the number of a mixer.
std::optional<Symbol> layer_symbol(S s, std::string_view name) {
  const std::optional<Count> value = s.letter(name);
  if (!value) return std::nullopt;
  const std::size_t digits = name.size() - 1 - name.find_last_not_of("0123456789");
  const std::string_view base = name.substr(0, name.size() - digits);
  const std::string meaning = layer_meaning(base);
  if (meaning.empty()) return std::nullopt;
  const std::string of = digits == 0 ? "" : ", in layers with mixer " + std::string(name.substr(base.size()));
  return Symbol{std::string(name), meaning + of, number_text(*value)};
}

/// A reference to another quantity that has its own explanation.
struct Other {
  std::string_view name, meaning, training, inference;  ///< `training` and `inference` are paths; one may be empty
};

constexpr std::string_view none;
constexpr Other others[] = {
    {"N", "parameters", "parameters.total", "parameters.total"},
    {"N_emb", "parameters of the token embedding", "parameters.embedding", none},
    {"N_pos", "parameters of the positions", "parameters.position", none},
    {"N_attn", "parameters of attention", "parameters.attention", none},
    {"N_mlp", "parameters of MLPs", "parameters.mlp", none},
    {"N_norm", "parameters of norms", "parameters.norm", none},
    {"N_head", "parameters of the head", "parameters.lm_head", none},
    {"N_act", "active parameters", "parameters.active", none},
    {"N_ne", "non-embedding parameters", "parameters.non_embedding", none},
    {"N_mm", "matmul weights per token", "parameters.matmul", "parameters.matmul"},
    {"N_T", "parameters on one rank", "memory.parameters", "inference_memory.parameters"},
    {"M_w", "bytes of weights", "memory.weights_bytes", "inference_memory.weights_bytes"},
    {"M_g", "bytes of gradients", "memory.gradients_bytes", none},
    {"M_o", "bytes of optimizer state", "memory.optimizer_bytes", none},
    {"M_act", "bytes of activations", "memory.activations_bytes", none},
    {"M_log", "bytes of logits", "memory.logits_bytes", none},
    {"M_ws", "bytes of workspace", "memory.workspace_bytes", "inference_memory.workspace_bytes"},
    {"M_peak", "peak bytes", "memory.peak_bytes", "inference_memory.peak_bytes"},
    {"M_kv", "bytes of the KV cache", none, "inference_memory.kv_cache_bytes"},
    {"M_seq", "cache bytes per sequence", none, "kv_cache.bytes_per_sequence"},
    {"M_blk", "bytes saved by the blocks", "activations.blocks_bytes", none},
    {"M_core", "bytes saved by the attention cores", "activations.attention_core_bytes", none},
    {"F_fwd", "forward FLOPs", "flops.forward", none},
    {"F_lin", "forward FLOPs in matrices", "flops.forward_linear", none},
    {"F_core", "forward FLOPs in attention cores", "flops.forward_attention", none},
    {"F_head", "forward FLOPs in the head", "flops.forward_head", none},
    {"F_mtp", "forward FLOPs in MTP modules", "flops.forward_modules", none},
    {"F_bwd", "backward FLOPs", "flops.backward", none},
    {"F_re", "recomputed FLOPs", "flops.recompute", none},
    {"F_model", "model FLOPs of a micro-batch", "flops.model_total", none},
    {"F_hw", "hardware FLOPs of a micro-batch", "flops.hardware_total", none},
    {"step_time", "step time, s", "step.time_s", none},
    {"R", "throughput, tokens/s", "step.tokens_per_s", none},
    {"decode_time", "decode step time, s", none, "decode.time_per_token_s"},
    {"prefill_time", "prefill time, s", none, "prefill.time_s"},
    {"total_time", "total generation time, s", none, "end_to_end.total_s"},
    {"gpu_hours", "GPU-hours", "run.gpu_hours", none},
    {"kWh", "energy, kWh", "run.energy_kwh", none},
};

}  // namespace

std::optional<Symbol> symbol(S s, Subject about, std::string_view name) {
  const bool inference = about == Subject::inference;
  if (name == "B")
    return Symbol{"B", either(inference, "sequences served concurrently", "sequences per micro-batch"),
                  number_text(inference ? s.plan().batch : s.plan().micro_batch)};
  for (const Size& size : sizes)
    if (size.name == name) return Symbol{std::string(name), std::string(size.meaning), size.value(s)};
  if (auto of_layers = layer_symbol(s, name)) return of_layers;
  for (const Other& o : others) {
    if (o.name != name) continue;
    const std::string_view path = inference ? o.inference : o.training;
    return Symbol{std::string(name), std::string(o.meaning) + " (" + std::string(path) + ")", s.number(path)};
  }
  return std::nullopt;
}

std::vector<Symbol> symbols(S s, Subject about, const Formula& formula) {
  std::vector<Symbol> all;
  const auto named = [](const std::vector<Symbol>& in, const std::string& name) {
    return std::find_if(in.begin(), in.end(), [&](const Symbol& x) { return x.name == name; });
  };
  for (const std::string& name : identifiers(formula.expression)) {
    if (const auto own = named(formula.own, name); own != formula.own.end()) {
      all.push_back(*own);
      continue;
    }
    bool indexed = false;
    for (const Terms& t : formula.terms)
      if (const auto i = named(t.symbols, name); i != t.symbols.end()) {
        indexed = true;
        all.push_back(*i);
      }
    if (indexed) continue;
    const std::optional<Symbol> known = symbol(s, about, name);
    if (!known) throw std::logic_error("no such symbol: " + name);
    all.push_back(*known);
  }
  return all;
}

}  // namespace llmcalc::explain
