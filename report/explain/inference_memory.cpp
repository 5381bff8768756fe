#include <algorithm>

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
/// Inference memory with another batch or prompt.
Memory memory_with(S s, Count batch, Count prompt, Count generate) {
  Plan p = s.plan();
  p.batch = batch;
  p.prompt = prompt;
  p.generate = generate;
  return inference_memory(s.arch(), p, s.layout(), process_bytes(s.request()));
}
/// Workspace grows with the batch, so that one sequence's says how many fit.
Formula max_batch(S s) {
  const Memory one = memory_with(s, 1, s.plan().prompt, s.plan().generate);
  return {"max(0, floor((u*M - M_w - M_p)/(M_seq + W_1)))",
          {{"M_p", "bytes that the process takes before any tensor", number_text(one.process.value)},
           {"W_1", "workspace of a batch of one, bytes", number_text(one.workspace.value)}}};
}
Formula max_context(S s) {
  const Row* row = s.row("limits.max_context");
  const Count n = row ? std::get<Count>(row->value) : 0;
  const auto peak = [&](Count context) {
    const Count generate = std::clamp<Count>(context - 1, 0, s.plan().generate);
    return number_text(context == 0 ? Count{0}
                                    : memory_with(s, s.plan().batch, context - generate, generate).peak.value);
  };
  return {"n_max",
          {{"n_max", "largest n with M_n <= u*M", number_text(n)},
           {"M_n", "peak bytes at that context", peak(n)},
           {"M_n+1", "at one token more", peak(n + 1)}}};
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
    {"limits.max_batch", "largest batch", "sequences", Subject::inference, true, max_batch,
     "weights, cache, workspace and process", "Goon (8.1), which leaves out workspace and process", "a KV cache"},
    {"limits.max_context", "longest context", "tokens", Subject::inference, true, max_context,
     "at this batch; at most the learned positions", "Goon (8.1), which leaves out workspace and process",
     "a KV cache"},
};

}  // namespace

std::span<const Definition> inference_memory_definitions() { return memory; }
std::span<const Definition> limit_definitions() { return limits; }

}  // namespace llmcalc::explain
