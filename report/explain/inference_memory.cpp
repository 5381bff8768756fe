#include "report/explain/alive.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/formats.hpp"
#include "report/explain/sum.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

const textbook::Sizes<Expr>& rank(S s) { return s.rank_sizes(); }
bool expanded(S s) { return s.latent() && s.plan().mla == Mla::expanded; }

/// Numbers cached per token by one softmax layer: keys and values of the heads, or MLA's latent row.
Expr cached_numbers(S s, const textbook::Sizes<Expr>& of) {
  return s.latent() ? of.r_kv + of.d_r : Expr(2) * of.cut(of.G) * of.d_h;
}

/// Bytes of the rows that one rank caches per token in one softmax layer, each with its scales.
Expr cached_bytes(S s) {
  const Format& f = s.plan().kv_precision.format();
  const textbook::FormatSizes<Expr> format = cache_format(s);
  const Expr heads = rank(s).cut(rank(s).A);
  if (f.group == 0 && f.element_bits % 8 == 0)
    return format.each * (expanded(s) ? heads * (rank(s).d_n + rank(s).d_r + rank(s).d_v) : cached_numbers(s, rank(s)));
  const auto row = [&](const Expr& width) { return textbook::matrix_bytes<Expr>(f, format, width, 1); };
  if (expanded(s)) return heads * (row(rank(s).d_n + rank(s).d_r) + row(rank(s).d_v));
  return s.latent() ? row(rank(s).r_kv + rank(s).d_r) : Expr(2) * rank(s).cut(rank(s).G) * row(rank(s).d_h);
}

/// Bytes per token of the layers whose cache grows for ever, or up to the window or chunk.
Expr growing(S s) { return rank(s).L_f * cached_bytes(s); }
Expr local(S s) { return rank(s).L_w * cached_bytes(s); }
/// Linear layers keep a float32 state per head.
Expr state(S s) { return Expr(4) * rank(s).L_l * rank(s).cut(rank(s).A) * rank(s).d_h * rank(s).d_h; }
bool is_some(const Expr& e) { return !(e == Expr(0)); }

Formula bytes_per_sequence(S s) {
  const Expr context = Expr("n_in", s.plan().prompt) + Expr("n_out", s.plan().generate);
  return {(rank(s).L_f * context * cached_bytes(s) + rank(s).L_w * min(context, rank(s).span.tokens) * cached_bytes(s) +
           state(s))
              .text()};
}

/// The bytes of `batch` sequences reach `room` at this many tokens: where windows and chunks are not full yet, or
/// beyond.
std::string context_at(S s, const std::string& room, const char* rounding) {
  const std::string left = is_some(state(s)) ? room + " - B*" + state(s).text() : room;
  const auto tokens = [&](const std::string& bytes, const Expr& rate) {
    return std::string(rounding) + "(" + ratio(bytes, product({"B", rate.text()})) + ")";
  };
  if (!is_some(local(s))) return tokens(left, growing(s));
  const std::string filling = tokens(left, growing(s) + local(s));
  if (!is_some(growing(s))) return filling;
  return "max(" + filling + ", " +
         tokens(left + " - B*" + rank(s).span.tokens.text() + "*" + local(s).text(), growing(s)) + ")";
}

/// Where no layer has a cache that grows there is nothing to solve: the states alone outgrow the weights, or do not
/// fit.
Formula equals_weights(S s) {
  if (!is_some(rank(s).L_s)) return {"1"};
  const std::string context = context_at(s, "M_w", "ceil");
  return {is_some(state(s)) ? "max(1, " + context + ")" : context};
}
/// A limit with the memory that it takes, and that one more would take.
Formula limit(S s, std::string_view path, Plan (*with)(Plan, Count)) {
  const Row* row = s.row(path);
  const Count n = row ? std::get<Count>(row->value) : 0;
  const auto peak = [&](Count k) {
    if (k == 0) return number_text(Count{0});
    return number_text(
        inference_memory(s.arch(), with(s.plan(), k), s.layout(), process_bytes(s.request())).peak.value);
  };
  return {"n_max",
          {{"n_max", "largest n with M_n <= u*M", number_text(n)},
           {"M_n", "peak bytes at n_max", peak(n)},
           {"M_n+1", "peak bytes at one more", peak(n + 1)}}};
}
Formula max_batch(S s) { return limit(s, "limits.max_batch", with_batch); }
Formula max_context(S s) { return limit(s, "limits.max_context", with_context); }

constexpr std::string_view heads = "KV heads fewer than the ranks are on several, the latent row of MLA on every one";
constexpr Definition memory[] = {
    {"inference_memory.parameters", "parameters on one rank", "parameters",
     [](S s) -> Formula { return {textbook::all_parameters(s.arch(), rank(s)).text()}; },
     "projections, MLPs, table and head are cut over the T ranks; norms, routers, row biases are on every one",
     "Megatron (arXiv:1909.08053); Goon (2.12)"},
    {"inference_memory.weights_bytes", "weights", "bytes",
     [](S s) {
       if (s.plan().weight_precision.any_held())
         return from_engine(s, "M_held", "bytes that the checkpoint holds of the tensors of one rank",
                            "inference_memory.weights_bytes");
       return weight_bytes(s, s.plan().weight_precision, "inference_memory.parameters");
     },
     per_gpu, "Goon (7.1); formats: ggml-common.h, OCP MX v1.0, QLoRA arXiv:2305.14314, GPTQ arXiv:2210.17323"},
    {"inference_memory.kv_cache_bytes", "KV cache", "bytes",
     [](S s) -> Formula { return {s.plan().kv_cache ? "B*M_seq" : "0"}; }, per_gpu, "Goon (6.1), (7.1)"},
    {"inference_memory.workspace_bytes", "workspace: alive at the worst moment of prefill or decode", "bytes",
     [](S s) -> Formula {
       return {"sum(b_i)", {}, {alive_terms(alive_in_inference(s))}};
     },
     per_gpu, "liveness of the operators' tensors"},
    {"inference_memory.total_bytes", "sum of all parts", "bytes", fixed<"M_w + M_kv + M_ws">, per_gpu,
     "Goon (7.1), (8.1)"},
    {"inference_memory.peak_bytes", "most alive at once", "bytes", fixed<"M_w + M_kv + M_ws">, per_gpu, "Goon (7.1)"},
    {"inference_memory.capacity_bytes", "memory of the device", "bytes", fixed<"M">, "datasheet", "the hardware file"},
    {"inference_memory.fits", "does it fit?", "", fixed<"M_peak/(u*M)">, per_gpu, "the hardware file", "",
     "yes where this is at most 1"},
    {"kv_cache.elements_per_token", "numbers cached per token", "",
     [](S s) -> Formula { return {(s.sizes().L_s * cached_numbers(s, s.sizes())).text()}; },
     "whole model, all layers, windows and chunks ignored", "Goon (6.1); GQA arXiv:2305.13245; MLA arXiv:2405.04434"},
    {"kv_cache.bytes_per_token", "bytes cached per token while no window or chunk is full", "bytes",
     [](S s) -> Formula { return {(rank(s).L_s * cached_bytes(s)).text()}; }, heads, "Goon (6.1) with G d_h = D"},
    {"kv_cache.bytes_per_sequence", "bytes cached per sequence", "bytes", bytes_per_sequence,
     "the cache full: prompt and generated tokens; a window keeps W of them, a chunk W_c; a row starts on a byte, its "
     "groups with "
     "it",
     "Goon (6.1)"},
    {"kv_cache.bytes_total", "bytes cached in all", "bytes",
     [](S s) -> Formula { return {s.plan().kv_cache ? "B*M_seq" : "0"}; }, per_gpu, "Goon (6.1)"},
    {"kv_cache.equals_weights_context", "context from which the cache is larger than the weights", "tokens",
     equals_weights, "at this batch", "Goon §6", "a layer without window or chunks"},
};

constexpr Definition limits[] = {
    {"limits.max_batch", "largest batch", "sequences", max_batch, "weights, cache, workspace and process",
     "Goon (8.1), which leaves out workspace and process", "a KV cache"},
    {"limits.max_context", "longest context", "tokens", max_context, "at this batch; at most the learned positions",
     "Goon (8.1), which leaves out workspace and process", "a KV cache"},
};

}  // namespace

std::span<const Definition> inference_memory_definitions() { return memory; }
std::span<const Definition> limit_definitions() { return limits; }

}  // namespace llmcalc::explain
