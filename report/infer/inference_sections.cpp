#include "report/infer/inference_sections.hpp"

#include <fmt/format.h>

#include "ask/answer/interval.hpp"
#include "ask/answer/power.hpp"
#include "ask/request/prices.hpp"
#include "ask/request/request.hpp"
#include "calc/pass/pass_spent.hpp"
#include "calc/run.hpp"
#include "report/interval.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/train/run_section.hpp"
#include "report/train/training_sections.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::string bound_name(const Time& t) { return std::string(bound_names[static_cast<std::size_t>(bound(t))]); }

/// The two notes, joined by a comma: "256 tokens, 1.5 to 2.5 s in 9 of 10 cases".
std::string joined(std::string note, const std::string& more) {
  if (more.empty()) return note;
  return note.empty() ? more : note + ", " + more;
}

double intensity(const Cost& c) { return static_cast<double>(c.executed.value) / c.moved.total(); }

/// Prefill time of a single request without contention.
Seconds prefill_alone(const InferenceAnswer& a) {
  const Request& r = a.request();
  return prefill(r.model.arch, with_batch(r.plan, 1), r.layout, a.pass_stages(), r.plan.prompt).estimate.total();
}

using Interval = std::optional<EstimateInterval>;

/// The 90 % interval: "4.9 to 7.6 ms in 9 of 10 cases"; empty without an interval.
std::string range(const Interval& interval, double value, Unit unit) {
  return interval ? interval_text(*interval, value, unit) + " in 9 of 10 cases" : "";
}

/// The source of a time and its interval: "with vllm, 4.9 to 7.6 ms in 9 of 10 cases".
std::string how(const Request& r, const InferEstimate& e, const Interval& interval, Seconds time) {
  if (!e.estimated) return "lower bound: full efficiency";
  if (!r.engine) return "at the specified efficiencies";
  return joined(fmt::format("with {}", r.engine->named_version()), range(interval, time.value, Unit::seconds));
}

/// If there is an interval, adds its ends for the rows that have them.
void add_ends_of(Section& s, const Interval& interval, HasInterval has_interval) {
  if (interval) add_ends(s, *interval, has_interval);
}

void add_spent(Section& s, const std::vector<SpentPart>& parts, Seconds all) {
  for (const SpentPart& p : parts)
    s.add(fmt::format("breakdown_s.{}", p.key), std::string(p.label), p.time,
          fmt::format("{:.1f} %", 100 * (p.time / all)));
}

/// Parts with a time above 0; `products`, `cores`: labels of the matmuls and the attention cores.
std::vector<SpentPart> parts_of(const PassSpent& spent, std::string_view products, std::string_view cores) {
  std::vector<SpentPart> all;
  for (std::size_t i = 0; i < part_count; ++i) {
    const auto part = static_cast<Part>(i);
    const std::string_view label = part == Part::matmul ? products : part == Part::attention ? cores : part_label(part);
    if (spent.parts[part] > Seconds()) all.push_back({part_names[i], label, spent.parts[part]});
  }
  if (spent.engine > Seconds()) all.push_back({"engine", "engine loop", spent.engine});
  return all;
}

/// "321 to 613 W in 9 of 10 cases, by one source".
std::string power_source(const Request& r, const Estimated& watts) {
  if (r.run.watts) return "as specified";
  return fmt::format("{:.0f} to {:.0f} in 9 of 10 cases, by one source", watts.ends.low * watts.value,
                     watts.ends.high * watts.value);
}

/// Adds the power of a device during a pass, and the energy of all devices per token.
void add_power(Section& s, const InferenceAnswer& a, const PassEstimate& pass, const Interval& interval, Count tokens) {
  const auto watts = pass_watts(a, pass);
  if (!watts) return;
  const Estimated joules = joules_per_token(a, pass, *watts, interval, tokens);
  s.add("watts", "power per GPU, W", watts->value, Unit::none, power_source(a.request(), *watts));
  s.add("joules_per_token", "energy per token, J", joules.value, Unit::none, "all GPUs");
  if (!watts->ends.is_exact()) add_relative_ends(s, "watts", watts->ends, watts->value);
  if (interval) add_relative_ends(s, "joules_per_token", joules.ends, joules.value);
}

}  // namespace

std::vector<SpentPart> prefill_parts(const InferenceAnswer& a) {
  return parts_of(a.prefill_spent(), "matmuls", "attention cores");
}

std::vector<SpentPart> decode_parts(const InferenceAnswer& a) {
  return parts_of(a.decode_spent(), "weight matmuls", "attention over cache");
}

Section prefill_section(const InferenceAnswer& a) {
  const Request& r = a.request();
  const InferEstimate& e = a.estimate();
  const Plan& p = r.plan;
  Section s{"prefill", "prefill", {}};
  const Interval interval = a.prefill_interval();
  s.add("time_s", "time", e.prefill.estimate.total(), how(r, e, interval, e.prefill.estimate.total()));
  s.add("bound_time_s", e.estimated ? "time, at best" : "", e.prefill.bound.total());
  s.add("flops", "model FLOPs", e.prefill.flops, fmt::format("{} x {} tokens, head on the last", p.batch, p.prompt));
  s.add("tokens_per_s", "throughput", real(p.batch * p.prompt) / e.prefill.estimate.total().value,
        Unit::tokens_per_second);
  s.add("intensity", "intensity", intensity(e.prefill.rank), Unit::flops_per_byte, "executed FLOPs per byte moved");
  s.add("bound", "bound by", bound_name(e.prefill.estimate));
  if (r.engine) add_spent(s, prefill_parts(a), a.prefill_spent().total());
  add_ends_of(s, interval, [](std::string_view key) { return key == "time_s" || key == "tokens_per_s"; });
  add_power(s, a, e.prefill, interval, p.batch * p.prompt);
  return s;
}

Section decode_section(const InferenceAnswer& a) {
  const Request& r = a.request();
  const InferEstimate& e = a.estimate();
  const Plan& p = r.plan;
  const Device& device = r.hardware->cluster.device;
  const Seconds step = e.middle.estimate.total();
  const Count context = p.prompt + p.generate / 2;
  const Interval interval = a.decode_interval();
  Section s{"decode", "decode", {}};
  s.add("time_per_token_s", "time per token", step,
        joined(fmt::format("at context {}", context), range(interval, step.value, Unit::seconds)));
  s.add("bound_time_per_token_s", e.estimated ? "time, at best" : "", e.middle.bound.total());
  s.add("first_time_per_token_s", "at the start", e.first.estimate.total(), fmt::format("context {}", p.prompt + 1));
  s.add("last_time_per_token_s", "at the end", e.last.estimate.total(),
        fmt::format("context {}", p.prompt + p.generate));
  s.add("tokens_per_s", "throughput", real(p.batch) / step.value, Unit::tokens_per_second,
        counted(p.batch, "sequence"));
  s.add("tokens_per_s_per_sequence", "per sequence", 1 / step.value, Unit::tokens_per_second,
        fmt::format("reading speed: about {:.1f}", reading_tokens_per_second()));
  s.add("flops", "model FLOPs", e.middle.flops, "one step");
  s.add(
      "intensity", "intensity", intensity(e.middle.rank), Unit::flops_per_byte,
      a.placement() ? "" : fmt::format("hardware ridge: {:.0f}", (device.peak(p.precision) / device.bandwidth).value));
  s.add("bound", "bound by", bound_name(e.middle.estimate));
  if (r.engine) add_spent(s, decode_parts(a), a.decode_spent().total());
  add_ends_of(s, interval, [](std::string_view key) {
    return key == "time_per_token_s" || key == "tokens_per_s" || key == "tokens_per_s_per_sequence";
  });
  add_power(s, a, e.middle, interval, p.batch);
  if (!p.kv_cache || a.placement()) return s;
  const std::optional<Count> batch = compute_bound_batch(r.model.arch, p, r.layout, device, context);
  if (batch)
    s.add("compute_bound_batch", "compute-bound from", *batch, Unit::sequences, "weights and cache against the ridge");
  else
    s.add("compute_bound", "compute-bound from", std::string("never"), Unit::none, "the cache grows with the batch");
  return s;
}

Section drafts_section(const InferenceAnswer& a) {
  const Request& r = a.request();
  const InferEstimate& e = a.estimate();
  const Plan& p = r.plan;
  Section s{"drafts", "MTP drafts", {}};
  if (p.mtp == 0) return s;
  const Count context = p.prompt + p.generate / 2, most = p.mtp + 1;
  const Seconds step = drafted(r.model.arch, p, r.layout, a.pass_stages(), context).estimate.total();
  const double longer = step / e.middle.estimate.total();
  s.add("step_s", "step", step, "verifies and drafts " + counted(p.mtp, "token"));
  s.add("over_decode_step", "relative to no drafts", longer, Unit::none, fmt::format("at context {}", context));
  s.add("break_even_accepted", "break-even", longer - 1, Unit::none,
        fmt::format("accepted drafts per step, of {}", p.mtp));
  s.add("most_tokens_per_s_per_sequence", "per sequence, at most", static_cast<double>(most) / step.value,
        Unit::tokens_per_second, "if all are accepted");
  return s;
}

Section end_to_end_section(const InferenceAnswer& a) {
  const Request& r = a.request();
  const InferEstimate& e = a.estimate();
  const Plan& p = r.plan;
  Section s{"end_to_end", "whole generation", {}};
  const bool several = p.batch > 1;
  const Seconds alone = several ? prefill_alone(a) : e.estimate.first_token;
  const Interval first = a.first_token_interval(), whole = a.whole_interval();
  s.add("ttft_s", several ? "time to first tokens" : "time to first token", e.estimate.first_token,
        joined(several ? fmt::format("all {} prompts in one pass", p.batch) : "prefill",
               range(first, e.estimate.first_token.value, Unit::seconds)));
  s.add("ttft_alone_s", several ? "  isolated" : "", alone, "request without queueing");
  s.add("ttft_mean_s", several ? "  on average" : "", 0.5 * real(p.batch + 1) * alone, "prompts processed in sequence");
  s.add("total_s", "time to last token", e.estimate.total,
        joined(fmt::format("{} tokens{}", p.generate, p.kv_cache ? "" : ", no KV cache"),
               range(whole, e.estimate.total.value, Unit::seconds)));
  s.add("bound_ttft_s", "", e.bound.first_token);
  s.add("bound_total_s", e.estimated ? "at best" : "", e.bound.total);
  s.add("tokens_per_s", "throughput", real(p.batch * p.generate) / e.estimate.total.value, Unit::tokens_per_second);
  s.add("words_per_s", "words per second", words_of_tokens(real(p.generate) / e.estimate.total.value), Unit::none,
        "per sequence; a word is 1.3 tokens");
  if (const std::optional<double> price = price_of(r)) {
    const double all = cost(device_hours(devices(r.layout), e.estimate.total), *price);
    const double million = 1e6 * all / real(p.batch * p.generate);
    s.add("usd_per_1m_tokens", "cost per million tokens", million, Unit::dollars,
          joined(range(whole, million, Unit::dollars),
                 fmt::format("generated tokens, including prompts{}; {:g} USD per GPU-hour",
                             e.estimated ? "" : "; a minimum, because the time is a lower bound", *price)));
  }
  add_ends_of(s, first, [](std::string_view key) { return key == "ttft_s"; });
  add_ends_of(s, whole, [](std::string_view key) {
    return key == "total_s" || key == "tokens_per_s" || key == "usd_per_1m_tokens";
  });
  return s;
}

Section inference_estimate_section(const Request& r) {
  Section s{"inference_estimate", "", {}};
  s.add("software", "", r.engine->name);
  if (!r.engine->version.name.empty()) s.add("software_version", "", r.engine->version.name);
  s.add("parameters", "", inference_estimator().fitted);
  const auto add_class = [&](const std::string& figure, InferenceClass kind) {
    s.add(figure + "_class", "", std::string(name(kind)));
    if (const auto interval = interval_of(r, kind)) s.add(figure + "_families", "", interval->families);
  };
  if (has_traffic(r.serving)) {
    add_class("ttft", InferenceClass::first_token);
    add_class("tpot", InferenceClass::served_decode);
    return s;
  }
  add_class("prefill", InferenceClass::prefill);
  add_class("decode", InferenceClass::decode);
  add_class("whole", InferenceClass::whole_batch);
  return s;
}

Section limits_section(const InferenceAnswer& answer) {
  const Request& r = answer.request();
  const Limits& l = answer.limits();
  const Plan& p = r.plan;
  Section s{"limits", "memory limits", {}};
  if (!l.max_batch) return s;
  s.add("max_batch", "largest batch", *l.max_batch, Unit::sequences,
        fmt::format("of {} tokens", p.prompt + p.generate));
  if (!l.max_context) return s;
  const Arch& a = r.model.arch;
  std::string note = fmt::format("at batch {}", p.batch);
  if (*l.max_context > a.context) note = fmt::format("the model supports {}", a.context);
  if (a.learned_rows() > 0 && *l.max_context == a.learned_rows()) note = "limited by learned positions";
  s.add("max_context", "longest context", *l.max_context, Unit::tokens, note);
  return s;
}

}  // namespace llmcalc
