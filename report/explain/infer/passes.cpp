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
    return from_engine(s, "F_all", "FLOPs of the prompt in the model and in its modules", "prefill.flops");
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

/// The four parts of a pass's time.
Formula limiting(const Time& t) {
  return {"max(compute, memory, communication, launches)",
          {{"compute", "time at the peak, s", number_text(t.compute.value)},
           {"memory", "time at the bandwidth, s", number_text(t.memory.value)},
           {"communication", "time of exchanges, s", number_text(t.communication.value)},
           {"launches", "time of launches, s", number_text(t.latency.value)}}};
}

/// Decode steps in segments of contexts with linear time: mean of the two ends, times the number of steps.
Formula generation_time(S s, Time PassEstimate::*time, double BothSeconds::*seconds) {
  Terms terms{{{"n_i", "decode steps of a stretch", ""},
               {"a_i", "time of its first, s", ""},
               {"b_i", "time of its last, s", ""}},
              {}};
  if (s.parts().terms)
    DecodeSteps(s.arch(), s.plan(), s.layout(), s.cluster()).for_each_stretch([&](const Stretch& stretch) {
      terms.rows.push_back(
          {"contexts " + number_text(stretch.from) + " to " + number_text(stretch.to),
           {number_text(stretch.size()), number_text(stretch.first.*seconds), number_text(stretch.last.*seconds)}});
    });
  const double prefill = (s.infer().prefill.*time).total().value;
  return {"prefill_time + sum(n_i*(a_i + b_i)/2)",
          {{"prefill_time", "time of the prefill, s", number_text(prefill)}},
          {std::move(terms)}};
}

Formula mean_first_token(S s) {
  return {"(B + 1)/2*t_alone",
          {{"t_alone", "time to the first token of a request alone, s", s.number("end_to_end.ttft_alone_s")}}};
}

/// The smallest batch whose intensity reaches the ridge; experts require a search.
Formula compute_bound(S s) {
  const Row* row = s.row("decode.compute_bound_batch");
  const Plan p = with_batch(s.plan(), row ? std::get<Count>(row->value) : Count{1} << 24);
  const Cost cost = decode(s.arch(), p, s.layout(), s.cluster(), middle(p)).rank;
  const Symbol bytes{"M_b", "bytes of weights and cache of a decode step at that batch",
                     number_text(cost.moved.weights + cost.moved.cache)};
  const Rates rates = bound_rates(s.device(), p);
  if (rates.mixed())
    return {"t_b*beta/M_b",
            {{"t_b", "seconds of its FLOPs, each at the peak of its format",
              number_text(compute_seconds(s.arch(), p, s.layout(), decode_pass(p, middle(p)), rates).value)},
             bytes}};
  return {"F_b*beta/(M_b*pi)", {{"F_b", "its FLOPs", digits(cost.executed.value)}, bytes}};
}

/// An end of the interval for a class of figures.
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
Symbol whole_time(S s) { return as_symbol(s, "t_all", "time of the whole generation, s", "end_to_end.total_s"); }
Symbol cost_at_estimate(S s) {
  return as_symbol(s, "usd", "cost of a million generated tokens, USD", "end_to_end.usd_per_1m_tokens");
}
Formula with(Formula f, Symbol own) {
  f.own.push_back(std::move(own));
  return f;
}
constexpr std::string_view pass_roofline =
    "per operator the larger of FLOPs/peak and bytes/bandwidth (--roofline op), or of the whole pass (step)";
constexpr std::string_view estimated_pass =
    "per operator the larger of FLOPs/peak and bytes/bandwidth (--roofline op), or of the whole pass (step); an "
    "estimate takes the shares of both that the device reaches, and adds launches and the engine's own time";
constexpr std::string_view pass_sources = "Goon App. D; Pope 2022 (arXiv:2211.05102); Williams 2009";
constexpr std::string_view model = "matmuls; the head sees the last position of each sequence";
constexpr std::string_view drafting =
    "1 + modules tokens of every sequence through the model, whose head sees all of them, and through the modules";
constexpr std::string_view drafting_source = "DeepSeek-V3 (arXiv:2412.19437) 5.4.3; arXiv:2211.17192";
Symbol drafting_time(S s) { return as_symbol(s, "t_d", "time of a step that verifies and drafts, s", "drafts.step_s"); }
constexpr std::string_view chen = "Chen, Transformer inference arithmetic";

constexpr Definition pass_table[] = {
    {"prefill.time_s", "time of the prompt", "s", [](S s) { return pass_time(s, prefill_pass(s.plan()), false); },
     estimated_pass, pass_sources},
    {"prefill.bound_time_s", "time of the prompt at full efficiency", "s",
     [](S s) { return pass_time(s, prefill_pass(s.plan()), true); }, pass_roofline, pass_sources},
    {"prefill.flops", "model FLOPs of the prompt", "FLOP", prefill_flops, model, chen},
    {"prefill.tokens_per_s", "prompt tokens per second", "tokens/s", fixed<"B*n_in/prefill_time">, "", pass_sources},
    {"prefill.intensity", "arithmetic intensity of the prompt", "FLOP/byte",
     [](S s) { return pass_intensity(s, prefill_pass(s.plan())); }, "executed FLOPs over bytes moved, one rank",
     "Goon (D.1)"},
    {"prefill.bound", "what takes most of the prompt", "", [](S s) { return limiting(s.infer().prefill.estimate); },
     slowest, pass_sources, "", slowest},
    {"prefill.time_low_s", "the shortest time of the prompt of 9 in 10 cases", "s",
     [](S s) { return of_fast_prefill(s, "max(prefill_time/w, t_0)", "prefill.bound_time_s"); }, interval_law,
     left_out_figures, known_interval},
    {"prefill.time_high_s", "the longest time of the prompt of 9 in 10 cases", "s",
     [](S s) { return of_prefill(s, "prefill_time*w"); }, interval_law, left_out_figures, known_interval},
    {"prefill.tokens_per_s_low", "the fewest prompt tokens per second of 9 in 10 cases", "tokens/s",
     [](S s) { return of_prefill(s, "B*n_in/(prefill_time*w)"); }, interval_law, left_out_figures, known_interval},
    {"prefill.tokens_per_s_high", "the most prompt tokens per second of 9 in 10 cases", "tokens/s",
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
    {"decode.last_time_per_token_s", "time of a decode step at the end", "s",
     [](S s) { return decode_time(s, s.plan().prompt + s.plan().generate, "context at the end", false); },
     estimated_pass, pass_sources},
    {"decode.tokens_per_s", "throughput", "tokens/s", fixed<"B/decode_time">, "all sequences", pass_sources},
    {"decode.tokens_per_s_per_sequence", "throughput of one sequence", "tokens/s", fixed<"1/decode_time">,
     "a reader takes 4: Goon §8, footnote 32", pass_sources},
    {"decode.flops", "model FLOPs of one decode step", "FLOP", decode_flops,
     "at the middle context, which counts the new token", "Goon §7; Chen, Transformer inference arithmetic"},
    {"decode.intensity", "arithmetic intensity of one decode step", "FLOP/byte",
     [](S s) { return pass_intensity(s, decode_pass(s.plan(), middle(s.plan()))); },
     "executed FLOPs over bytes moved, one rank", "Goon (7.2), which leaves it open; (D.2), (D.3)"},
    {"decode.bound", "what takes most of a decode step", "", [](S s) { return limiting(s.infer().middle.estimate); },
     slowest, pass_sources, "", slowest},
    {"decode.compute_bound_batch", "smallest batch that is compute-bound", "sequences", compute_bound,
     "weights and cache against the ridge pi/beta; found by search", "Goon App. D, (8.1)",
     "a KV cache, and a batch that can be compute-bound", "the smallest batch at which this is at least 1"},
    {"decode.time_per_token_low_s", "the shortest decode step of 9 in 10 cases", "s",
     [](S s) { return of_fast_decode(s, "max(decode_time/w, t_0)", "decode.bound_time_per_token_s"); }, interval_law,
     left_out_figures, known_interval},
    {"decode.time_per_token_high_s", "the longest decode step of 9 in 10 cases", "s",
     [](S s) { return of_decode(s, "decode_time*w"); }, interval_law, left_out_figures, known_interval},
    {"decode.tokens_per_s_low", "the least throughput of 9 in 10 cases", "tokens/s",
     [](S s) { return of_decode(s, "B/(decode_time*w)"); }, interval_law, left_out_figures, known_interval},
    {"decode.tokens_per_s_high", "the most throughput of 9 in 10 cases", "tokens/s",
     [](S s) { return of_fast_decode(s, "B/max(decode_time/w, t_0)", "decode.bound_time_per_token_s"); }, interval_law,
     left_out_figures, known_interval},
    {"decode.tokens_per_s_per_sequence_low", "the least throughput of a sequence of 9 in 10 cases", "tokens/s",
     [](S s) { return of_decode(s, "1/(decode_time*w)"); }, interval_law, left_out_figures, known_interval},
    {"decode.tokens_per_s_per_sequence_high", "the most throughput of a sequence of 9 in 10 cases", "tokens/s",
     [](S s) { return of_fast_decode(s, "1/max(decode_time/w, t_0)", "decode.bound_time_per_token_s"); }, interval_law,
     left_out_figures, known_interval},
    {"drafts.step_s", "time of a step that verifies and drafts", "s",
     [](S s) { return pass_time(s, drafting_pass(s.plan(), middle(s.plan())), false); }, drafting, drafting_source,
     "--mtp N"},
    {"drafts.over_decode_step", "that time over a decode step's", "",
     [](S s) { return with({"t_d/decode_time"}, drafting_time(s)); }, drafting, drafting_source, "--mtp N"},
    {"drafts.break_even_accepted", "accepted drafts per step from which drafting is faster", "",
     [](S s) { return with({"t_d/decode_time - 1"}, drafting_time(s)); },
     "a step gives a token and the drafts that are accepted", drafting_source, "--mtp N"},
    {"drafts.most_tokens_per_s_per_sequence", "throughput of a sequence whose drafts are all accepted", "tokens/s",
     [](S s) {
       return with(with({"(1 + n_u)/t_d"}, drafting_time(s)), {"n_u", "modules in use", number_text(s.plan().mtp)});
     },
     "a step gives a token and the drafts that are accepted", drafting_source, "--mtp N"},
    {"end_to_end.ttft_s", "time to the first token", "s",
     [](S s) { return pass_time(s, prefill_pass(s.plan()), false); }, "the prefill", "Pope 2022 (arXiv:2211.05102)"},
    {"end_to_end.ttft_alone_s", "time to the first token of a request alone", "s",
     [](S s) { return pass_time(s, prefill_pass(with_batch(s.plan(), 1)), false); }, "batch 1",
     "Pope 2022 (arXiv:2211.05102)"},
    {"end_to_end.ttft_mean_s", "mean time to the first token", "s", mean_first_token,
     "prompts run one after another, each alone: (1 + 2 + ... + B)/B of them", "arithmetic"},
    {"end_to_end.total_s", "time of the whole generation", "s",
     [](S s) { return generation_time(s, &PassEstimate::estimate, &BothSeconds::estimate); },
     "prefill, then a decode step per further token at the context it has then", "Goon §7"},
    {"end_to_end.usd_per_1m_tokens", "cost of a million generated tokens", "USD",
     [](S s) -> Formula {
       return {"price_h*n_g*t_all/3600*1000000/(n_s*n_t)",
               {{"price_h", "price of a GPU-hour, USD", number_text(price_of(s.request()).value_or(0))},
                {"n_g", "GPUs", number_text(devices(s.layout()))},
                whole_time(s),
                {"n_s", "sequences", number_text(s.plan().batch)},
                {"n_t", "tokens that each generates", number_text(s.plan().generate)}}};
     },
     "prompts are paid for by what is generated; at least, where the time is a bound", "the hardware file",
     "hardware with a price"},
    {"end_to_end.bound_ttft_s", "time to the first token at full efficiency", "s",
     [](S s) { return pass_time(s, prefill_pass(s.plan()), true); }, "the prefill", "Pope 2022 (arXiv:2211.05102)"},
    {"end_to_end.bound_total_s", "time of the whole generation at full efficiency", "s",
     [](S s) { return generation_time(s, &PassEstimate::bound, &BothSeconds::bound); },
     "prefill, then a decode step per further token at the context it has then", "Goon §7"},
    {"end_to_end.tokens_per_s", "throughput of the whole generation", "tokens/s", fixed<"B*n_out/total_time">,
     "all sequences", pass_sources},
    {"end_to_end.words_per_s", "words per second and sequence", "", fixed<"n_out/total_time/1.3">,
     "1.3 tokens per word", "Goon §1, footnote 1"},
    {"end_to_end.ttft_low_s", "the shortest time to the first token of 9 in 10 cases", "s",
     [](S s) { return of_fast_prefill(s, "max(prefill_time/w, t_0)", "end_to_end.bound_ttft_s"); }, interval_law,
     left_out_figures, known_interval},
    {"end_to_end.ttft_high_s", "the longest time to the first token of 9 in 10 cases", "s",
     [](S s) { return of_prefill(s, "prefill_time*w"); }, interval_law, left_out_figures, known_interval},
    {"end_to_end.total_low_s", "the shortest whole generation of 9 in 10 cases", "s",
     [](S s) { return of_fast_whole(s, "max(total_time/w, t_0)", "end_to_end.bound_total_s"); }, interval_law,
     left_out_figures, known_interval},
    {"end_to_end.total_high_s", "the longest whole generation of 9 in 10 cases", "s",
     [](S s) { return of_whole(s, "total_time*w"); }, interval_law, left_out_figures, known_interval},
    {"end_to_end.tokens_per_s_low", "the least throughput of a generation of 9 in 10 cases", "tokens/s",
     [](S s) { return of_whole(s, "B*n_out/(total_time*w)"); }, interval_law, left_out_figures, known_interval},
    {"end_to_end.tokens_per_s_high", "the most throughput of a generation of 9 in 10 cases", "tokens/s",
     [](S s) { return of_fast_whole(s, "B*n_out/max(total_time/w, t_0)", "end_to_end.bound_total_s"); }, interval_law,
     left_out_figures, known_interval},
    {"end_to_end.usd_per_1m_tokens_low", "the least cost of a million generated tokens of 9 in 10 cases", "USD",
     [](S s) {
       return with(
           with(of_fast_whole(s, "usd*max(t_all/w, t_0)/t_all", "end_to_end.bound_total_s"), cost_at_estimate(s)),
           whole_time(s));
     },
     interval_law, left_out_figures, "an estimate with an interval on hardware with a price"},
    {"end_to_end.usd_per_1m_tokens_high", "the most cost of a million generated tokens of 9 in 10 cases", "USD",
     [](S s) { return with(of_whole(s, "usd*w"), cost_at_estimate(s)); }, interval_law, left_out_figures,
     "an estimate with an interval on hardware with a price"},
    {"inference_estimate.prefill_families", "sources behind the interval of a prompt", "",
     [](S s) { return families(s, "inference_estimate.prefill_families"); }, fitted_to_others, left_out_figures,
     known_interval},
    {"inference_estimate.decode_families", "sources behind the interval of a decode step", "",
     [](S s) { return families(s, "inference_estimate.decode_families"); }, fitted_to_others, left_out_figures,
     known_interval},
    {"inference_estimate.whole_families", "sources behind the interval of a whole generation", "",
     [](S s) { return families(s, "inference_estimate.whole_families"); }, fitted_to_others, left_out_figures,
     known_interval},
};

}  // namespace

std::span<const Definition> pass_definitions() { return pass_table; }

}  // namespace llmcalc::explain
