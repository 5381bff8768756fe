#include <fmt/format.h>

#include "ask/request/request.hpp"
#include "calc/textbook/inference.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/formats.hpp"
#include "report/explain/infer/media_encoders.hpp"
#include "report/explain/infer/profiled_pass.hpp"
#include "report/explain/modules.hpp"
#include "report/explain/sum.hpp"
#include "report/explain/train/alive.hpp"
#include "report/report.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

const textbook::Sizes<Expr>& rank(S s) { return s.rank_sizes(); }
using Sizes = textbook::Sizes<Expr>;

bool is_latent(const Sizes& of) { return of.mixer.attention == AttentionKind::latent; }

bool pools(const Sizes& of) { return !(of.c.ratio == Expr(0)); }
/// Width of the key that a layer's indexer caches for every token.
Expr index_key(const Sizes& of) { return of.i.L == Expr(0) || pools(of) ? Expr(0) : of.i.d; }
/// Elements of the pooled keys of one group of tokens, including an indexer's.
Expr pooled_numbers(const Sizes& of) { return of.i.L == Expr(0) ? of.d_h : of.d_h + of.i.d; }
/// Whether the layers cache no keys and values, because they read another layer's cache or process a whole sequence at
/// once.
bool caches_none(const Sizes& of) { return of.mixer.shared_kv || of.mixer.bidirectional; }

/// Elements cached per token by one attention layer: keys and values of the heads, MLA's latent row, or 0 if another
/// layer caches them.
Expr cached_by_core(const Sizes& of) {
  if (caches_none(of)) return 0;
  if (is_latent(of)) return of.r_kv + of.d_r;
  if (of.mixer.attention == AttentionKind::compressed) return of.d_h;
  return of.d_v == of.d_h ? Expr(2) * of.cut(of.G) * of.d_h : of.cut(of.G) * (of.d_h + of.d_v);
}

Expr cached_numbers(const Sizes& of) { return cached_by_core(of) + index_key(of); }
/// Elements cached per token by all layers with one mixer; for pooled keys, the mean over tokens.
Expr cached_in_mean(const Sizes& of) {
  if (!pools(of)) return of.L_s * cached_numbers(of);
  const Expr index = of.i.L == Expr(0) ? Expr(0) : floor(of.i.L * of.i.d / of.c.ratio);
  return of.L_s * cached_numbers(of) + floor(of.L_s * of.d_h / of.c.ratio) + index;
}

/// Bytes of a single row of this width, as a key or as a value.
Expr key_row(S s, const Expr& width) {
  return textbook::matrix_bytes<Expr>(s.plan().kv_precision.keys.format(), key_format(s), width, 1);
}
Expr value_row(S s, const Expr& width) {
  return textbook::matrix_bytes<Expr>(s.plan().kv_precision.values.format(), value_format(s), width, 1);
}
/// Bytes of a row of 8-bit numbers with a float32 scale per 128 numbers.
Expr scaled_row(const Expr& width) { return width + Expr(4) * ceil(width / Expr(128)); }
/// Bytes of an indexer's key.
Expr index_row(S s, const Sizes& of) {
  return s.plan().kv_precision.scaled_index ? scaled_row(of.i.d) : key_row(s, of.i.d);
}
/// Whether a cached row has a fixed number of bytes per element.
bool counts_numbers(S s) {
  const CacheFormats& cache = s.plan().kv_precision;
  const Format& f = cache.keys.format();
  return cache.uniform() && f.group == 0 && f.element_bits % 8 == 0 && !cache.scaled_index;
}

/// Bytes of a token's rows in one attention layer of a rank, with their scales.
Expr cached_rows(S s, const Sizes& of) {
  if (caches_none(of)) return 0;
  const Expr heads = of.cut(of.A), groups = of.cut(of.G);
  const bool expanded = is_latent(of) && s.plan().mla == Mla::expanded;
  if (counts_numbers(s))
    return key_format(s).each * (expanded ? heads * (of.d_n + of.d_r + of.d_v) + index_key(of) : cached_numbers(of));
  const Expr index = of.i.L == Expr(0) || pools(of) ? Expr(0) : index_row(s, of);
  if (of.mixer.attention == AttentionKind::compressed) return key_row(s, of.d_h);
  if (expanded) return heads * (key_row(s, of.d_n + of.d_r) + value_row(s, of.d_v)) + index;
  if (is_latent(of) && s.plan().kv_precision.scaled_latent) return scaled_row(of.r_kv) + Expr(2) * of.d_r + index;
  if (is_latent(of)) return key_row(s, of.r_kv + of.d_r) + index;
  const bool alike = of.d_v == of.d_h && s.plan().kv_precision.uniform();
  return (alike ? Expr(2) * groups * key_row(s, of.d_h) : groups * (key_row(s, of.d_h) + value_row(s, of.d_v))) + index;
}

/// Bytes that one rank caches per token in one attention layer.
Expr cached_bytes(S s, const Sizes& of) {
  const Expr rows = cached_rows(s, of);
  const Count token_ranks = ranks(s.layout(), Group::cached);
  return token_ranks > 1 ? ceil(rows / Expr("T_d", token_ranks)) : rows;
}

/// Bytes of the pooled keys of one group of tokens in one layer.
Expr pooled_bytes(S s, const Sizes& of) {
  if (!pools(of)) return 0;
  if (counts_numbers(s)) return key_format(s).each * pooled_numbers(of);
  return of.i.L == Expr(0) ? key_row(s, of.d_h) : key_row(s, of.d_h) + key_row(s, of.i.d);
}

bool has_cache(const Expr& layers, const Sizes& of) { return !(layers == Expr(0)) && !caches_none(of); }

/// Cache bytes per token in the layers whose cache grows without limit (growing) or up to the window or chunk (local).
Expr growing(S s) {
  return over_parts(rank(s),
                    [&](const Sizes& of) { return has_cache(of.L_f, of) ? of.L_f * cached_bytes(s, of) : Expr(0); });
}
Expr local(S s, const Sizes& of) { return has_cache(of.L_w, of) ? of.L_w * cached_bytes(s, of) : Expr(0); }

/// Bytes of the states of fixed size (textbook::sequence_state).
Expr state(S s) { return textbook::sequence_state(rank(s), compute_bytes(s)); }
/// Whether the plan has MTP modules, whose sizes are not among a model's symbols.
bool has_modules(S s) { return s.plan().mtp > 0; }

bool is_some(const Expr& e) { return !(e == Expr(0)); }

Formula bytes_per_sequence(S s) {
  if (has_modules(s))
    return from_engine(s, "M_all", "bytes cached per sequence by all layers and MTP modules",
                       "kv_cache.bytes_per_sequence");
  const Expr asked = Expr("n_in", s.plan().prompt) + Expr("n_out", s.plan().generate);
  const Expr context = s.arch().is_encoder_decoder() ? asked + 1 : asked;  // the decoder starts with one token
  const Expr cached = over_parts(rank(s), [&](const Sizes& of) {
    if (!has_cache(of.L_f, of) && !has_cache(of.L_w, of)) return Expr(0);
    const Expr rows =
        of.L_f * context * cached_bytes(s, of) + of.L_w * min(context, of.span.tokens) * cached_bytes(s, of);
    return pools(of) ? rows + of.L_s * floor(context / of.c.ratio) * pooled_bytes(s, of) : rows;
  });
  return {(cached + state(s)).text()};
}

/// The layers of one mixer whose cache ends at a window or chunk; null if no mixer or several mixers have such layers.
struct Windowed {
  const Sizes* part = nullptr;
  Count mixers = 0;
};
Windowed windowed(S s) {
  Windowed w;
  const auto see = [&](const Sizes& of) {
    if (!has_cache(of.L_w, of)) return;
    w.part = &of;
    ++w.mixers;
  };
  see(rank(s));
  for (const Sizes& other : rank(s).others) see(other);
  return w;
}

/// Tokens per sequence at which the bytes of `batch` sequences reach `room`, either before or after windows and chunks
/// are full.
std::string context_at(S s, const Sizes* part, const std::string& room, const char* rounding) {
  const Expr apart = s.arch().is_encoder_decoder() ? growing(s) : state(s);  // the decoder starts with one token
  const std::string left = is_some(apart) ? room + " - B*" + apart.text() : room;
  const auto tokens = [&](const std::string& bytes, const Expr& rate) {
    return std::string(rounding) + "(" + ratio(bytes, product({"B", rate.text()})) + ")";
  };
  if (part == nullptr) return tokens(left, growing(s));
  const std::string filling = tokens(left, growing(s) + local(s, *part));
  if (!is_some(growing(s))) return filling;
  return "max(" + filling + ", " +
         tokens(left + " - B*" + part->span.tokens.text() + "*" + local(s, *part).text(), growing(s)) + ")";
}

/// Context at which the cache is as large as the weights. Without a growing cache, the states exceed the weights from
/// context 1 or never.
Formula equals_weights(S s) {
  const Windowed w = windowed(s);
  if (!is_some(growing(s)) && w.mixers == 0) return {"1"};
  const bool in_groups = !(over_parts(rank(s), [&](const Sizes& of) { return pooled_bytes(s, of); }) == Expr(0));
  if (w.mixers > 1 || in_groups || has_modules(s))
    return from_engine(s, "c_w",
                       "found by search: windows of several sizes, pooled keys, or MTP modules with their own cache",
                       "kv_cache.equals_weights_context");
  const std::string context = context_at(s, w.part, "M_w", "ceil");
  return {is_some(state(s)) ? "max(1, " + context + ")" : context};
}
/// A limit, with the peak memory at the limit and at one above it.
Formula limit(S s, std::string_view path, Plan (*with)(Plan, Count)) {
  const Row* row = s.row(path);
  const Count n = row ? std::get<Count>(row->value) : 0;
  const auto peak = [&](Count k) {
    if (k == 0) return number_text(Count{0});
    Request other = s.inference().request();
    other.plan = with(other.plan, k);
    return number_text(InferenceAnswer(std::move(other)).memory().peak.value);
  };
  return {
      "n_max",
      {{"n_max", s.inference().capacity() ? "largest n with M_n <= M_g" : "largest n with M_n <= u*M", number_text(n)},
       {"M_n", "peak bytes at n_max", peak(n)},
       {"M_n+1", "peak bytes at n_max + 1", peak(n + 1)}}};
}
Formula max_batch(S s) { return limit(s, "limits.max_batch", with_batch); }
Formula max_context(S s) { return limit(s, "limits.max_context", with_context); }

/// Total inference memory, whose parts are all live at once.
Formula all_bytes(S s) {
  Formula f{"M_w + M_kv + M_ws"};
  const auto add = [&](const char* name, const char* meaning, Bytes b) {
    if (b == Bytes()) return;
    f.expression += fmt::format(" + {}", name);
    f.own.push_back({name, meaning, number_text(b.value)});
  };
  add("M_tow", "bytes of vision and audio encoders", media_encoder_bytes(s.plan(), s.layout()));
  if (s.inference().capacity())
    add("M_proc", "bytes of libraries, CUDA graphs, padding, draft model and adapters", s.inference().memory().process);
  else
    add("M_proc", "measured bytes of a process before it allocates tensors", process_bytes(s.request()));
  return f;
}

constexpr std::string_view heads =
    "KV heads are replicated if there are fewer than ranks; MLA's latent row is replicated on every rank";
Formula fits_inference(S s) {
  Formula f{s.inference().capacity() ? "M_peak/M_g" : "M_peak/(u*M)"};
  if (s.inference().capacity())
    f.own.push_back(as_symbol(s, "M_g", "bytes that the engine may fill", "inference_memory.granted_bytes"));
  if (s.row("inference_memory.host_capacity_bytes") == nullptr) return f;
  f.expression = fmt::format("max({}, M_host/M_hc)", f.expression);
  f.own.push_back(as_symbol(s, "M_host", "bytes in host memory", "inference_memory.host_bytes"));
  f.own.push_back(as_symbol(s, "M_hc", "host memory per GPU, bytes", "inference_memory.host_capacity_bytes"));
  return f;
}

/// KV cache of the batch: the blocks of its sequences; without an engine, the bytes of their tokens.
Formula cached_by_batch(S s) {
  if (s.plan().offload.cache.numerator > 0)
    return from_engine(s, "M_kv_dev", "bytes of the KV cache in device memory", "inference_memory.kv_cache_bytes");
  if (!s.plan().kv_cache) return {"0"};
  if (!s.inference().capacity()) return {"B*M_seq"};
  const SchedulerRules& rules = s.inference().capacity()->engine().rules.scheduler;
  const Count blocks = most_blocks_of(rules, s.arch().local.reach, add(s.plan().prompt, s.plan().generate));
  return {"B*b_s*M_b",
          {{"b_s", "cache blocks per sequence", number_text(blocks)},
           {"M_b", "bytes per block", number_text(rules.block.value)}}};
}

/// The workspace: the peak of the engine's largest pass; without an engine, the tensors live at the peak of prefill
/// or decode.
Formula workspace(S s) {
  if (s.inference().capacity()) return profiled_pass_formula(s.inference().capacity()->engine().memory.pass);
  return {"sum(b_i)", {}, {alive_terms(alive_in_inference(s))}};
}

constexpr Definition memory[] = {
    {"inference_memory.parameters", "parameters on one rank", "parameters",
     [](S s) {
       if (!has_modules(s)) return Formula{textbook::all_parameters(s.arch(), rank(s)).text()};
       const ModuleFormulas module(s, ranks(s.layout(), Group::tensor));
       return module.formula(textbook::all_parameters(s.arch(), rank(s)) +
                             Expr("n_u", s.plan().mtp) * module.parameters());
     },
     "projections, MLPs, token embedding and head are sharded across T ranks; norms, routers, row biases are "
     "replicated",
     "Megatron (arXiv:1909.08053); Goon (2.12)"},
    {"inference_memory.weights_bytes", "weights", "bytes",
     [](S s) {
       if (s.plan().offload.weights.numerator + s.plan().offload.experts.numerator > 0)
         return from_engine(s, "M_dev", "bytes of the weights in device memory", "inference_memory.weights_bytes");
       const bool is_stage = s.inference().capacity() && ranks(s.layout(), Group::pipeline) > 1;
       if (s.plan().weight_precision.any_held() || has_modules(s) || is_stage)
         return from_engine(s, "M_held", "bytes of one rank's tensors in their storage formats",
                            "inference_memory.weights_bytes");
       return weight_bytes(s, s.plan().weight_precision, "inference_memory.parameters");
     },
     per_gpu, "Goon (7.1); formats: ggml-common.h, OCP MX v1.0, QLoRA arXiv:2305.14314, GPTQ arXiv:2210.17323"},
    {"inference_memory.towers_bytes", "vision and audio encoders", "bytes", media_encoder_bytes,
     media_encoder_convention, media_encoder_sources, "a model with vision or audio encoders"},
    {"inference_memory.kv_cache_bytes", "KV cache", "bytes", cached_by_batch,
     "per GPU; an engine's cache has blocks of several tokens", "Goon (6.1), (7.1)"},
    {"inference_memory.host_bytes", "host memory", "bytes",
     [](S s) {
       return from_engine(s, "M_host", "offloaded parts of weights and KV cache, bytes", "inference_memory.host_bytes");
     },
     per_gpu, "--offload", "--offload"},
    {"inference_memory.workspace_bytes", "workspace: tensors live at the peak of prefill or decode", "bytes", workspace,
     "per GPU; an engine reserves the peak of its largest pass",
     "liveness of the operators' tensors; vLLM's profiling"},
    {"inference_memory.process_bytes", "memory of the process other than tensors of the plan", "bytes",
     [](S s) {
       return from_engine(s, "M_p", "bytes of libraries, CUDA graphs, padding, draft model and adapters",
                          "inference_memory.process_bytes");
     },
     per_gpu, "presets/estimates/engine-memory.json", "--hardware NAME"},
    {"inference_memory.granted_bytes", "memory that the engine may fill", "bytes",
     [](S s) {
       return from_engine(s, "M_e", "share of the memory that processes see, by the engine's law",
                          "inference_memory.granted_bytes");
     },
     per_gpu, "presets/software, \"server\"", "--hardware NAME"},
    {"inference_memory.total_bytes", "sum of all parts", "bytes", all_bytes, per_gpu, "Goon (7.1), (8.1)"},
    {"inference_memory.peak_bytes", "peak memory", "bytes", all_bytes, per_gpu, "Goon (7.1)"},
    {"inference_memory.host_capacity_bytes", "host memory per GPU", "bytes",
     [](S s) {
       return from_engine(s, "M_hc", "bytes of host memory divided by its number of GPUs",
                          "inference_memory.host_capacity_bytes");
     },
     "of the server in the hardware file", "the hardware file", "--offload WHAT"},
    {"inference_memory.capacity_bytes", "device memory", "bytes", fixed<"M">, "datasheet", "the hardware file"},
    {"inference_memory.fits", "does it fit?", "", fits_inference, per_gpu, "the hardware file", "",
     "yes if this is at most 1"},
    {"kv_cache.elements_per_token", "elements cached per token", "",
     [](S s) {
       if (has_modules(s))
         return from_engine(s, "n_kv", "elements cached per token by all layers and MTP modules",
                            "kv_cache.elements_per_token");
       return Formula{over_parts(s.sizes(), cached_in_mean).text()};
     },
     "whole model, all layers; ignores windows and chunks", "Goon (6.1); GQA arXiv:2305.13245; MLA arXiv:2405.04434"},
    {"kv_cache.bytes_per_token", "bytes cached per token before any window or chunk is full", "bytes",
     [](S s) {
       if (has_modules(s))
         return from_engine(s, "M_tok", "bytes cached per token by all layers and MTP modules",
                            "kv_cache.bytes_per_token");
       return Formula{over_parts(rank(s), [&](const Sizes& of) {
                        const Expr rows = of.L_s * cached_bytes(s, of);
                        return pools(of) ? rows + of.L_s * floor(pooled_bytes(s, of) / of.c.ratio) : rows;
                      }).text()};
     },
     heads, "Goon (6.1) with G d_h = D"},
    {"kv_cache.growing_bytes_per_token", "bytes cached per additional token once all windows and chunks are full",
     "bytes",
     [](S s) {
       return from_engine(s, "M_grow", "bytes per token of the layers without window or chunk, and of pooled keys",
                          "kv_cache.growing_bytes_per_token");
     },
     heads, "Goon (6.1), without layers of limited reach"},
    {"kv_cache.bytes_per_sequence", "bytes cached per sequence", "bytes", bytes_per_sequence,
     "at full length: prompt and generated tokens; a window caches W of them, a chunk W_c; rows are byte-aligned and "
     "begin a new group",
     "Goon (6.1)"},
    {"kv_cache.state_bytes", "bytes of recurrent states per sequence", "bytes",
     [](S s) -> Formula {
       if (has_modules(s))
         return from_engine(s, "M_st", "bytes of recurrent states of all layers and MTP modules",
                            "kv_cache.state_bytes");
       return {state(s).text()};
     },
     "fixed size: a state per head, and the last inputs of convolutions or token shifts",
     "DeltaNet arXiv:2412.06464; Mamba arXiv:2312.00752, arXiv:2405.21060; RG-LRU arXiv:2402.19427; "
     "RWKV-5 and -6 arXiv:2404.05892; RWKV-7 arXiv:2503.14456; mLSTM arXiv:2405.04517",
     "linear attention or a recurrence"},
    {"kv_cache.bytes_total", "total bytes cached", "bytes",
     [](S s) -> Formula { return {s.plan().kv_cache ? "B*M_seq" : "0"}; }, per_gpu, "Goon (6.1)"},
    {"kv_cache.equals_weights_context", "context at which the cache is as large as the weights", "tokens",
     equals_weights, "at the given batch size", "Goon §6", "a layer without a window or chunks"},
};

constexpr Definition limits[] = {
    {"limits.max_batch", "largest batch", "sequences", max_batch, "weights, cache, workspace and process",
     "Goon (8.1), which omits workspace and process", "a KV cache"},
    {"limits.max_context", "longest context", "tokens", max_context,
     "at the given batch size; at most the learned positions", "Goon (8.1), which omits workspace and process",
     "a KV cache"},
};

}  // namespace

std::span<const Definition> inference_memory_definitions() { return memory; }
std::span<const Definition> limit_definitions() { return limits; }

}  // namespace llmcalc::explain
