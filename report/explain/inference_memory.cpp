#include "report/explain/alive.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/format_text.hpp"
#include "report/explain/weights.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// Numbers cached per token by one softmax layer: keys and values of the heads, or MLA's latent row.
std::string cached_numbers(S s, bool per_rank) {
  if (!s.latent()) return product({"2", s.mine("G", s.arch().kv_heads, per_rank), "d_h"});
  if (per_rank && s.plan().mla == Mla::expanded) return product({s.cut("A", s.arch().heads), "d_n + d_r + d_v"});
  return "(r_kv + d_r)";
}
std::string in_all_layers(S s, const std::string& each) {
  const std::string n = s.softmax_layers();
  return n.empty() ? "0" : product({n, each});
}

/// Bytes of a row of the cache that is `width` wide, with its scales.
std::string row(S s, const std::string& width) {
  return matrix_text(s.plan().kv_precision.format(), {"p_kv", "b_kv", "g_kv", "b_ko", "g_ko"}, width, "");
}
/// Bytes of the rows that one rank caches per token in one softmax layer.
std::string cached_bytes(S s) {
  const Format& f = s.plan().kv_precision.format();
  if (f.group == 0 && f.element_bits % 8 == 0) return product({"p_kv", cached_numbers(s, true)});
  if (!s.latent()) return product({"2", s.cut("G", s.arch().kv_heads), row(s, "d_h")});
  if (s.plan().mla != Mla::expanded) return row(s, "r_kv + d_r");
  return product({s.cut("A", s.arch().heads), row(s, "d_n + d_r") + " + " + row(s, "d_v")});
}

/// Bytes per token of the layers whose cache grows for ever ("L_f") or up to the window ("L_w").
std::string per_token(S s, const char* layers) {
  const std::string n = s.layers(layers);
  return n.empty() ? "" : product({n, cached_bytes(s)});
}
std::string state(S s) {
  const std::string n = s.layers("L_l");
  return n.empty() ? "" : product({"4", n, s.cut("A", s.arch().heads), "d_h^2"});
}
std::string added(const std::string& a, const std::string& b) { return a.empty() ? b : b.empty() ? a : a + " + " + b; }

Formula bytes_per_sequence(S s) {
  const std::string context = "(n_in + n_out)", full = s.layers("L_f"), window = s.layers("L_w");
  std::string text;
  if (!full.empty()) text = product({full, context, cached_bytes(s)});
  if (!window.empty()) text = added(text, product({window, "min(n_in + n_out, W)", cached_bytes(s)}));
  return {added(text, state(s))};
}

/// The bytes of `batch` sequences reach `room` at this many tokens: where the windows are not full yet, or beyond.
std::string context_at(S s, const std::string& room, const char* rounding) {
  const std::string full = per_token(s, "L_f"), window = per_token(s, "L_w"), constant = state(s);
  const std::string left = constant.empty() ? room : room + " - B*" + constant;
  const auto tokens = [&](const std::string& bytes, const std::string& rate) {
    return std::string(rounding) + "(" + ratio(bytes, product({"B", rate})) + ")";
  };
  if (window.empty()) return tokens(left, full);
  const std::string filling = tokens(left, added(full, window));
  return full.empty() ? filling : "max(" + filling + ", " + tokens(left + " - B*W*" + window, full) + ")";
}

/// Where no layer has a cache that grows there is nothing to solve: the states alone outgrow the weights, or do not
/// fit.
Formula equals_weights(S s) {
  if (s.softmax_layers().empty()) return {"1"};
  const std::string context = context_at(s, "M_w", "ceil");
  return {state(s).empty() ? context : "max(1, " + context + ")"};
}
Formula max_context(S s) {
  return {s.softmax_layers().empty() ? "0" : "max(0, " + context_at(s, "u*M - M_w", "floor") + ")"};
}

constexpr std::string_view per_gpu = "per GPU, the most loaded one";
constexpr std::string_view heads = "KV heads fewer than the ranks are on several, the latent row of MLA on every one";
constexpr Definition memory[] = {
    {"inference_memory.parameters", "parameters on one rank", "parameters", Subject::inference, false,
     [](S s) -> Formula { return {parameters_text(weights(s, true), [](const Weight&) { return true; })}; },
     "projections, MLPs, table and head are cut over the T ranks; norms, routers, row biases are on every one",
     "Megatron (arXiv:1909.08053); Goon (2.12)"},
    {"inference_memory.weights_bytes", "weights", "bytes", Subject::inference, false,
     [](S s) -> Formula { return {bytes_text(s)}; }, per_gpu,
     "Goon (7.1); formats: ggml-common.h, OCP MX v1.0, QLoRA arXiv:2305.14314, GPTQ arXiv:2210.17323"},
    {"inference_memory.kv_cache_bytes", "KV cache", "bytes", Subject::inference, false,
     [](S s) -> Formula { return {s.plan().kv_cache ? "B*M_seq" : "0"}; }, per_gpu, "Goon (6.1), (7.1)"},
    {"inference_memory.workspace_bytes", "workspace: alive at the worst moment of prefill or decode", "bytes",
     Subject::inference, false,
     [](S s) -> Formula {
       return {"sum(b_i)", {}, {alive_terms(alive_in_inference(s))}};
     },
     per_gpu, "liveness of the operators' tensors"},
    {"inference_memory.total_bytes", "sum of all parts", "bytes", Subject::inference, false,
     [](S) -> Formula { return {"M_w + M_kv + M_ws"}; }, per_gpu, "Goon (7.1), (8.1)"},
    {"inference_memory.peak_bytes", "most alive at once", "bytes", Subject::inference, false,
     [](S) -> Formula { return {"M_w + M_kv + M_ws"}; }, per_gpu, "Goon (7.1)"},
    {"inference_memory.capacity_bytes", "memory of the device", "bytes", Subject::inference, true,
     [](S) -> Formula { return {"M"}; }, "datasheet", "the hardware file"},
    {"inference_memory.fits", "does it fit?", "", Subject::inference, true,
     [](S) -> Formula { return {"M_peak/(u*M)"}; }, per_gpu, "the hardware file", "", "yes where this is at most 1"},
    {"kv_cache.elements_per_token", "numbers cached per token", "", Subject::inference, false,
     [](S s) -> Formula { return {in_all_layers(s, cached_numbers(s, false))}; },
     "whole model, all layers, windows ignored", "Goon (6.1); GQA arXiv:2305.13245; MLA arXiv:2405.04434"},
    {"kv_cache.bytes_per_token", "bytes cached per token while no window is full", "bytes", Subject::inference, false,
     [](S s) -> Formula { return {in_all_layers(s, cached_bytes(s))}; }, heads, "Goon (6.1) with G d_h = D"},
    {"kv_cache.bytes_per_sequence", "bytes cached per sequence", "bytes", Subject::inference, false, bytes_per_sequence,
     "the cache full: prompt and generated tokens; a window keeps W of them; a row starts on a byte, its groups with "
     "it",
     "Goon (6.1)"},
    {"kv_cache.bytes_total", "bytes cached in all", "bytes", Subject::inference, false,
     [](S s) -> Formula { return {s.plan().kv_cache ? "B*M_seq" : "0"}; }, per_gpu, "Goon (6.1)"},
    {"kv_cache.equals_weights_context", "context from which the cache is larger than the weights", "tokens",
     Subject::inference, false, equals_weights, "at this batch", "Goon §6", "a layer without a window"},
};

constexpr Definition limits[] = {
    {"limits.max_batch", "largest batch", "sequences", Subject::inference, true,
     [](S) -> Formula { return {"max(0, floor((u*M - M_w)/M_seq))"}; }, "weights and cache only; no workspace",
     "Goon (8.1)", "a KV cache"},
    {"limits.max_context", "longest context", "tokens", Subject::inference, true, max_context,
     "weights and cache only, at this batch", "Goon (8.1)", "a KV cache and a layer without a window"},
};

}  // namespace

std::span<const Definition> inference_memory_definitions() { return memory; }
std::span<const Definition> limit_definitions() { return limits; }

}  // namespace llmcalc::explain
