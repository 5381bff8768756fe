#include "ask/answer/interval.hpp"
#include "ask/request/prices.hpp"
#include "calc/textbook/flops.hpp"
#include "calc/textbook/weights.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/interval.hpp"
#include "report/explain/pass_time.hpp"
#include "report/interval.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/train/run_section.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

Count middle(const Plan& p) { return p.prompt + p.generate / 2; }
Symbol context(Count c, const char* meaning) { return {"c", meaning, number_text(c)}; }

/// Model FLOPs of `queries` tokens at the end of `context`; the head sees the last position of each sequence.
Formula model_flops(S s, const Expr& queries, const Expr& seen, bool absorbed, const char* path) {
  if (s.arch().is_encoder_decoder())
    return from_engine(s, "F_pass", "FLOPs of the encoder over the prompt, or of the decoder over one token", path);
  const textbook::Sizes<Expr>& n = s.sizes();
  const Expr batch("B", s.plan().batch), project = n.narrows_head ? n.D * n.D_e : Expr(0);
  const Expr head = textbook::head_weights(s.arch(), n) + project + textbook::pooled_weights(s.arch(), n);
  const Expr matrices = s.quantity("N_mm", "parameters.matmul") - head;
  const Expr core = textbook::over_parts(n, [&](const textbook::Sizes<Expr>& part) {
    const AttentionFlops convention = s.plan().attention_flops;
    return textbook::core_width(part, absorbed) * batch * textbook::layer_pairs(part, convention, queries, seen) +
           textbook::index_flops(part, convention, batch, queries, seen, false);
  });
  const Expr recurrent = textbook::linear_attention_flops(n, batch, queries);
  return {(Expr(2) * batch * queries * matrices + Expr(2) * batch * head + core + recurrent).text()};
}
Formula prefill_flops(S s) {
  if (s.plan().mtp > 0)
    return from_engine(s, "F_all", "FLOPs of the prompt in the model and its MTP modules", "prefill.flops");
  const Expr prompt("n_in", s.plan().prompt);
  return model_flops(s, prompt, prompt, s.plan().mla == Mla::absorbed, "prefill.flops");
}
Formula decode_flops(S s) {
  const Expr seen("c", middle(s.plan()));
  constexpr const char* path = "decode.flops";
  if (!s.plan().kv_cache) return model_flops(s, seen, seen, s.plan().mla == Mla::absorbed, path);
  return model_flops(s, 1, seen, s.plan().mla != Mla::expanded, path);
}

Formula decode_time(S s, Count c, const char* meaning, bool bound) {
  Formula f = pass_time(s, decode_pass(s.plan(), c), bound);
  f.own.push_back(context(c, meaning));
  return f;
}

/// The largest of the four parts of a pass's time.
Formula limiting(const Time& t) {
  return {"max(compute, memory, communication, launches)",
          {{"compute", "compute-bound time, s", number_text(t.compute.value)},
           {"memory", "memory-bound time, s", number_text(t.memory.value)},
           {"communication", "communication time, s", number_text(t.communication.value)},
           {"launches", "launch overhead, s", number_text(t.latency.value)}}};
}

/// Time of all decode steps. The steps are split into segments over which the time of a step is linear; each segment
/// contributes the mean of its first and last step, times its number of steps.
Formula generation_time(S s, Time PassEstimate::*time, double BothSeconds::*seconds) {
  Terms terms{{{"n_i", "decode steps in a segment", ""},
               {"a_i", "time of its first step, s", ""},
               {"b_i", "time of its last step, s", ""}},
              {}};
  if (s.parts().terms)
    DecodeSteps(s.arch(), s.plan(), s.layout(), s.cluster()).for_each_stretch([&](const Stretch& stretch) {
      terms.rows.push_back(
          {"contexts " + number_text(stretch.from) + " to " + number_text(stretch.to),
           {number_text(stretch.size()), number_text(stretch.first.*seconds), number_text(stretch.last.*seconds)}});
    });
  const double prefill = (s.infer().prefill.*time).total().value;
  return {"prefill_time + sum(n_i*(a_i + b_i)/2)",
          {{"prefill_time", "prefill time, s", number_text(prefill)}},
          {std::move(terms)}};
}

Formula mean_first_token(S s) {
  return {"(B + 1)/2*t_alone",
          {{"t_alone", "time to first token of a single request, s", s.number("end_to_end.ttft_alone_s")}}};
}

/// The smallest batch whose intensity reaches the ridge; models with experts require a search.
Formula compute_bound(S s) {
  const Row* row = s.row("decode.compute_bound_batch");
  const Plan p = with_batch(s.plan(), row ? std::get<Count>(row->value) : Count{1} << 24);
  const Cost cost = decode(s.arch(), p, s.layout(), s.cluster(), middle(p)).rank;
  const Symbol bytes{"M_b", "bytes of weights and cache in a decode step at that batch size",
                     number_text(cost.moved.weights + cost.moved.cache)};
  const Rates rates = bound_rates(s.device(), p);
  if (rates.mixed())
    return {"t_b*beta/M_b",
            {{"t_b", "time of its FLOPs, each at the peak of its format, s",
              number_text(compute_seconds(s.arch(), p, s.layout(), decode_pass(p, middle(p)), rates).value)},
             bytes}};
  return {fmt::format("F_b*beta/(M_b*{})", compute_rate(s, true)),
          {{"F_b", "its FLOPs", digits(cost.executed.value)}, bytes}};
}

/// One end of the 90 % interval for a class of estimates.
template <InferenceClass kind>
Formula of_class(S s, const char* expression) {
  return within(interval_of(s.request(), kind), expression);
}
template <InferenceClass kind>
Formula of_fast(S s, const char* expression, const char* bound) {
  return within(interval_of(s.request(), kind), expression, s, bound);
}
constexpr auto of_fast_prefill = of_fast<InferenceClass::prefill>, of_fast_decode = of_fast<InferenceClass::decode>,
               of_fast_whole = of_fast<InferenceClass::whole_batch>;
constexpr auto of_prefill = of_class<InferenceClass::prefill>, of_decode = of_class<InferenceClass::decode>,
               of_whole = of_class<InferenceClass::whole_batch>;
Symbol whole_time(S s) { return as_symbol(s, "t_all", "total generation time, s", "end_to_end.total_s"); }
Symbol cost_at_estimate(S s) {
  return as_symbol(s, "usd", "cost per million generated tokens, USD", "end_to_end.usd_per_1m_tokens");
}
Formula with(Formula f, Symbol own) {
  f.own.push_back(std::move(own));
  return f;
}
constexpr std::string_view pass_roofline =
    "the larger of FLOPs/peak and bytes/bandwidth, per operator (--roofline op) or for the whole pass (step)";
constexpr std::string_view estimated_pass =
    "the larger of FLOPs/peak and bytes/bandwidth, per operator (--roofline op) or for the whole pass (step); an "
    "estimate uses the achieved fractions of both, and adds launch and engine overhead";
constexpr std::string_view pass_sources = "Goon App. D; Pope 2022 (arXiv:2211.05102); Williams 2009";
constexpr std::string_view model = "matmuls; the head reads only the last position of each sequence";
constexpr std::string_view drafting =
    "1 + modules tokens per sequence through the model, with the head on all of them, and through the MTP modules";
constexpr std::string_view drafting_source = "DeepSeek-V3 (arXiv:2412.19437) 5.4.3; arXiv:2211.17192";
Symbol drafting_time(S s) { return as_symbol(s, "t_d", "time of a verify-and-draft step, s", "drafts.step_s"); }
constexpr std::string_view chen = "Chen, Transformer inference arithmetic";

constexpr Definition pass_table[] = {
    {"prefill.time_s", "prefill time", "s", [](S s) { return pass_time(s, prefill_pass(s.plan()), false); },
     estimated_pass, pass_sources},
    {"prefill.bound_time_s", "prefill time at full efficiency", "s",
     [](S s) { return pass_time(s, prefill_pass(s.plan()), true); }, pass_roofline, pass_sources},
    {"prefill.flops", "model FLOPs of prefill", "FLOP", prefill_flops, model, chen},
    {"prefill.tokens_per_s", "prompt tokens per second", "tokens/s", fixed<"B*n_in/prefill_time">, "", pass_sources},
    {"prefill.intensity", "arithmetic intensity of prefill", "FLOP/byte",
     [](S s) { return pass_intensity(s, prefill_pass(s.plan())); }, "executed FLOPs over bytes moved, one rank",
     "Goon (D.1)"},
    {"prefill.bound", "prefill bottleneck", "", [](S s) { return limiting(s.infer().prefill.estimate); }, slowest,
     pass_sources, "", slowest},
    {"prefill.time_low_s", "prefill time, low end of the 90 % interval", "s",
     [](S s) { return of_fast_prefill(s, "max(prefill_time/w, t_0)", "prefill.bound_time_s"); }, interval_law,
     left_out_figures, known_interval},
    {"prefill.time_high_s", "prefill time, high end of the 90 % interval", "s",
     [](S s) { return of_prefill(s, "prefill_time*w"); }, interval_law, left_out_figures, known_interval},
    {"prefill.tokens_per_s_low", "prompt tokens per second, low end of the 90 % interval", "tokens/s",
     [](S s) { return of_prefill(s, "B*n_in/(prefill_time*w)"); }, interval_law, left_out_figures, known_interval},
    {"prefill.tokens_per_s_high", "prompt tokens per second, high end of the 90 % interval", "tokens/s",
     [](S s) { return of_fast_prefill(s, "B*n_in/max(prefill_time/w, t_0)", "prefill.bound_time_s"); }, interval_law,
     left_out_figures, known_interval},
    {"decode.time_per_token_s", "time of one decode step", "s",
     [](S s) { return decode_time(s, middle(s.plan()), "context of the middle step", false); },
     "halfway through the generation", pass_sources},
    {"decode.bound_time_per_token_s", "time of one decode step at full efficiency", "s",
     [](S s) { return decode_time(s, middle(s.plan()), "context of the middle step", true); },
     "halfway through the generation", pass_sources},
    {"decode.first_time_per_token_s", "time of the first decode step", "s",
     [](S s) { return decode_time(s, s.plan().prompt + 1, "context of the first step", false); }, estimated_pass,
     pass_sources},
    {"decode.last_time_per_token_s", "time of the last decode step", "s",
     [](S s) { return decode_time(s, s.plan().prompt + s.plan().generate, "context of the last step", false); },
     estimated_pass, pass_sources},
    {"decode.tokens_per_s", "throughput", "tokens/s", fixed<"B/decode_time">, "all sequences", pass_sources},
    {"decode.tokens_per_s_per_sequence", "throughput per sequence", "tokens/s", fixed<"1/decode_time">,
     "reading speed is about 4 tokens/s: Goon §8, footnote 32", pass_sources},
    {"decode.flops", "model FLOPs of one decode step", "FLOP", decode_flops,
     "at the middle context, including the new token", "Goon §7; Chen, Transformer inference arithmetic"},
    {"decode.intensity", "arithmetic intensity of one decode step", "FLOP/byte",
     [](S s) { return pass_intensity(s, decode_pass(s.plan(), middle(s.plan()))); },
     "executed FLOPs over bytes moved, one rank", "Goon (7.2), which leaves it open; (D.2), (D.3)"},
    {"decode.bound", "decode bottleneck", "", [](S s) { return limiting(s.infer().middle.estimate); }, slowest,
     pass_sources, "", slowest},
    {"decode.compute_bound_batch", "smallest compute-bound batch", "sequences", compute_bound,
     "weights and cache against the ridge pi/beta; found by search", "Goon App. D, (8.1)",
     "a KV cache, and a batch that can be compute-bound", "the smallest batch at which this is at least 1"},
    {"decode.time_per_token_low_s", "time of one decode step, low end of the 90 % interval", "s",
     [](S s) { return of_fast_decode(s, "max(decode_time/w, t_0)", "decode.bound_time_per_token_s"); }, interval_law,
     left_out_figures, known_interval},
    {"decode.time_per_token_high_s", "time of one decode step, high end of the 90 % interval", "s",
     [](S s) { return of_decode(s, "decode_time*w"); }, interval_law, left_out_figures, known_interval},
    {"decode.tokens_per_s_low", "throughput, low end of the 90 % interval", "tokens/s",
     [](S s) { return of_decode(s, "B/(decode_time*w)"); }, interval_law, left_out_figures, known_interval},
    {"decode.tokens_per_s_high", "throughput, high end of the 90 % interval", "tokens/s",
     [](S s) { return of_fast_decode(s, "B/max(decode_time/w, t_0)", "decode.bound_time_per_token_s"); }, interval_law,
     left_out_figures, known_interval},
    {"decode.tokens_per_s_per_sequence_low", "throughput per sequence, low end of the 90 % interval", "tokens/s",
     [](S s) { return of_decode(s, "1/(decode_time*w)"); }, interval_law, left_out_figures, known_interval},
    {"decode.tokens_per_s_per_sequence_high", "throughput per sequence, high end of the 90 % interval", "tokens/s",
     [](S s) { return of_fast_decode(s, "1/max(decode_time/w, t_0)", "decode.bound_time_per_token_s"); }, interval_law,
     left_out_figures, known_interval},
    {"drafts.step_s", "time of a verify-and-draft step", "s",
     [](S s) { return pass_time(s, drafting_pass(s.plan(), middle(s.plan())), false); }, drafting, drafting_source,
     "--mtp N"},
    {"drafts.over_decode_step", "time of a verify-and-draft step over a decode step", "",
     [](S s) { return with({"t_d/decode_time"}, drafting_time(s)); }, drafting, drafting_source, "--mtp N"},
    {"drafts.break_even_accepted", "break-even number of accepted drafts per step", "",
     [](S s) { return with({"t_d/decode_time - 1"}, drafting_time(s)); },
     "a step yields one token plus the accepted drafts", drafting_source, "--mtp N"},
    {"drafts.most_tokens_per_s_per_sequence", "throughput per sequence if all drafts are accepted", "tokens/s",
     [](S s) {
       return with(with({"(1 + n_u)/t_d"}, drafting_time(s)), {"n_u", "MTP modules in use", number_text(s.plan().mtp)});
     },
     "a step yields one token plus the accepted drafts", drafting_source, "--mtp N"},
    {"end_to_end.ttft_s", "time to first token", "s", [](S s) { return pass_time(s, prefill_pass(s.plan()), false); },
     "prefill", "Pope 2022 (arXiv:2211.05102)"},
    {"end_to_end.ttft_alone_s", "time to first token of a single request", "s",
     [](S s) { return pass_time(s, prefill_pass(with_batch(s.plan(), 1)), false); }, "batch 1",
     "Pope 2022 (arXiv:2211.05102)"},
    {"end_to_end.ttft_mean_s", "mean time to first token", "s", mean_first_token,
     "prompts run one at a time: (1 + 2 + ... + B)/B prefills", "arithmetic"},
    {"end_to_end.total_s", "total generation time", "s",
     [](S s) { return generation_time(s, &PassEstimate::estimate, &BothSeconds::estimate); },
     "prefill, then one decode step for each further token at its context length", "Goon §7"},
    {"end_to_end.usd_per_1m_tokens", "cost per million generated tokens", "USD",
     [](S s) -> Formula {
       return {"price_h*n_g*t_all/3600*1000000/(n_s*n_t)",
               {{"price_h", "price of a GPU-hour, USD", number_text(price_of(s.request()).value_or(0))},
                {"n_g", "GPUs", number_text(devices(s.layout()))},
                whole_time(s),
                {"n_s", "sequences", number_text(s.plan().batch)},
                {"n_t", "tokens generated per sequence", number_text(s.plan().generate)}}};
     },
     "includes the cost of prompts; a lower bound if the time is a bound", "the hardware file",
     "hardware with a price"},
    {"end_to_end.bound_ttft_s", "time to first token at full efficiency", "s",
     [](S s) { return pass_time(s, prefill_pass(s.plan()), true); }, "prefill", "Pope 2022 (arXiv:2211.05102)"},
    {"end_to_end.bound_total_s", "total generation time at full efficiency", "s",
     [](S s) { return generation_time(s, &PassEstimate::bound, &BothSeconds::bound); },
     "prefill, then one decode step for each further token at its context length", "Goon §7"},
    {"end_to_end.tokens_per_s", "end-to-end throughput", "tokens/s", fixed<"B*n_out/total_time">, "all sequences",
     pass_sources},
    {"end_to_end.words_per_s", "words per second per sequence", "", fixed<"n_out/total_time/1.3">,
     "1.3 tokens per word", "Goon §1, footnote 1"},
    {"end_to_end.ttft_low_s", "time to first token, low end of the 90 % interval", "s",
     [](S s) { return of_fast_prefill(s, "max(prefill_time/w, t_0)", "end_to_end.bound_ttft_s"); }, interval_law,
     left_out_figures, known_interval},
    {"end_to_end.ttft_high_s", "time to first token, high end of the 90 % interval", "s",
     [](S s) { return of_prefill(s, "prefill_time*w"); }, interval_law, left_out_figures, known_interval},
    {"end_to_end.total_low_s", "total generation time, low end of the 90 % interval", "s",
     [](S s) { return of_fast_whole(s, "max(total_time/w, t_0)", "end_to_end.bound_total_s"); }, interval_law,
     left_out_figures, known_interval},
    {"end_to_end.total_high_s", "total generation time, high end of the 90 % interval", "s",
     [](S s) { return of_whole(s, "total_time*w"); }, interval_law, left_out_figures, known_interval},
    {"end_to_end.tokens_per_s_low", "end-to-end throughput, low end of the 90 % interval", "tokens/s",
     [](S s) { return of_whole(s, "B*n_out/(total_time*w)"); }, interval_law, left_out_figures, known_interval},
    {"end_to_end.tokens_per_s_high", "end-to-end throughput, high end of the 90 % interval", "tokens/s",
     [](S s) { return of_fast_whole(s, "B*n_out/max(total_time/w, t_0)", "end_to_end.bound_total_s"); }, interval_law,
     left_out_figures, known_interval},
    {"end_to_end.usd_per_1m_tokens_low", "cost per million generated tokens, low end of the 90 % interval", "USD",
     [](S s) {
       return with(
           with(of_fast_whole(s, "usd*max(t_all/w, t_0)/t_all", "end_to_end.bound_total_s"), cost_at_estimate(s)),
           whole_time(s));
     },
     interval_law, left_out_figures, "an estimate with an interval on hardware with a price"},
    {"end_to_end.usd_per_1m_tokens_high", "cost per million generated tokens, high end of the 90 % interval", "USD",
     [](S s) { return with(of_whole(s, "usd*w"), cost_at_estimate(s)); }, interval_law, left_out_figures,
     "an estimate with an interval on hardware with a price"},
    {"inference_estimate.prefill_families", "sources for the interval of prefill", "",
     [](S s) { return families(s, "inference_estimate.prefill_families"); }, fitted_to_others, left_out_figures,
     known_interval},
    {"inference_estimate.decode_families", "sources for the interval of a decode step", "",
     [](S s) { return families(s, "inference_estimate.decode_families"); }, fitted_to_others, left_out_figures,
     known_interval},
    {"inference_estimate.whole_families", "sources for the interval of a whole generation", "",
     [](S s) { return families(s, "inference_estimate.whole_families"); }, fitted_to_others, left_out_figures,
     known_interval},
};

}  // namespace

std::span<const Definition> pass_definitions() { return pass_table; }

}  // namespace llmcalc::explain
