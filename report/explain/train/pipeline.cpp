#include "report/explain/train/pipeline.hpp"

#include <fmt/format.h>

#include "ask/answer/stages.hpp"
#include "calc/pipeline/stage_chunks.hpp"
#include "calc/step/step_parts.hpp"
#include "report/explain/definition.hpp"
#include "report/train/stages.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

Prices training_prices(S s) { return price(s.arch(), s.plan(), s.layout(), s.cluster().device); }

StepParts wait_parts(S s) {
  const Prices prices = training_prices(s);
  const Efficiency e = leading(prices);
  StepWorkspace room;
  return step_parts(prices, s.plan(), s.layout(), s.cluster(), s.train().partition,
                    row_times(prices, s.plan(), s.layout(), s.cluster(), e), e, room);
}

Symbol time_symbol(const char* name, const char* meaning, Seconds t) { return {name, meaning, number_text(t.value)}; }

/// Seconds in a difference, with extra digits, because leading digits cancel.
std::string to_subtract(Seconds t) { return fmt::format("{:.20g}", t.value); }

/// Adds a term to a sum unless it is zero.
void add_term(Formula& f, const Symbol& symbol) {
  if (symbol.value == "0") return;
  f.expression += (f.expression.empty() ? "" : " + ") + symbol.name;
  f.own.push_back(symbol);
}
Formula zero_if_empty(Formula f) {
  if (f.expression.empty()) f.expression = "0";
  return f;
}

/// Limits a wait to the remainder of the step; a negative remainder from rounding counts as 0.
void cap(Formula& f, Seconds value, Seconds left) {
  if (value <= left) return;
  f.own.push_back(time_symbol("t_left", "step time minus all preceding parts, s", std::max(left, Seconds())));
  f.expression = fmt::format("min({}, t_left)", f.expression);
}

/// The stage whose memory is reported.
Stage fullest_stage_of(S s) { return s.training().stages().fullest(); }

}  // namespace

Formula data_parallel_waits(S s) {
  const StepParts p = wait_parts(s);
  Formula f;
  add_term(f, time_symbol("t_gat", "weight gathers before the first forward pass, mean over stages, s", p.gathers));
  add_term(f,
           time_symbol("t_red", "gradient reductions after the last backward pass, mean over stages, s", p.reductions));
  add_term(f,
           time_symbol("t_mb", "stalls of all micro-batches on weights and gradients, mean over stages, s", p.waits));
  add_term(f,
           time_symbol("t_oth", "matrix gathers of Muon, gradient reductions of DualPipe's model copies, s", p.others));
  return zero_if_empty(std::move(f));
}

Formula stage_messages(S s) {
  const StepParts p = wait_parts(s);
  Formula f;
  add_term(f, time_symbol("t_slot", "slots blocked until their message is sent, mean over stages, s", p.sending));
  add_term(f,
           time_symbol("t_tab", "gradient reduction of the token embedding shared by two stages, mean over stages, s",
                       p.table));
  if (p.pipelined > p.unsent) {
    Formula waits{"t_with - t_without",
                  {{"t_with", "pipeline time of all micro-batches, s", to_subtract(p.pipelined)},
                   {"t_without", "pipeline time with zero-cost messages, s", to_subtract(p.unsent)}}};
    cap(waits, p.pipelined - p.unsent, p.left_for_pp);
    f.expression += (f.expression.empty() ? "" : " + ") + waits.expression;
    f.own.insert(f.own.end(), waits.own.begin(), waits.own.end());
  }
  return zero_if_empty(std::move(f));
}

Formula waiting_for_slowest(S s) {
  const StepParts p = wait_parts(s);
  std::string all, sum;
  Formula f;
  Seconds busiest, behind;
  for (std::size_t r = 0; r < p.work.size(); ++r) {
    const std::string name = fmt::format("w_{}", r + 1);
    all += (all.empty() ? "" : ", ") + name;
    sum += (sum.empty() ? "" : " + ") + name;
    f.own.push_back({name, fmt::format("work of stage {} over all micro-batches, s", r + 1), to_subtract(p.work[r])});
    busiest = std::max(busiest, p.work[r]);
  }
  for (const Seconds w : p.work) behind += busiest - w;
  f.expression = fmt::format("max({}) - ({})/P", all, sum);
  cap(f, 1 / static_cast<double>(p.work.size()) * behind, p.left_for_imbalance);
  return f;
}

Formula activations_in_flight(S s) {
  const Stages& all = s.training().stages();
  const Cluster cluster = s.request().hardware ? s.cluster() : Cluster{};
  const Prices prices = price(s.arch(), s.plan(), s.layout(), cluster.device);
  const auto held = chunks_in_flight(prices, s.plan(), s.layout(), all.partition, all.fullest().rank);
  Terms terms{{{"n_i", "micro-batches in flight in a chunk of the stage", ""},
               {"a_i", "bytes saved per micro-batch", ""},
               {"u_i", "micro-batches with only weight gradients pending", ""},
               {"g_i", "bytes saved per micro-batch with only weight gradients pending", ""}},
              {}};
  for (std::size_t i = 0; i < held.size(); ++i)
    terms.rows.push_back(
        {fmt::format("layers {} to {}", held[i].chunk.first + 1, held[i].chunk.end),
         {number_text(held[i].micro_batches), number_text(saved_bytes(prices, s.plan(), held[i].chunk).value),
          number_text(held[i].for_weights), number_text(saved_for_weights(prices, held[i].chunk).value)}});
  return {"sum(n_i*a_i + u_i*g_i)", {}, {std::move(terms)}};
}

namespace {

/// Number of micro-batches that are in flight on stage r of P at the peak of a schedule, as a formula and as a value.
struct SavedOfSchedule {
  const char* formula = "";
  Count number = -1;  ///< value of the formula; -1: there is no short formula
};
SavedOfSchedule saved_by_schedule(const Pipeline& p, Count r) {
  const Count m = p.micro_batches, behind = p.ranks - r;
  switch (p.schedule) {
    case Schedule::gpipe:
      return {"m", m};
    case Schedule::one_f_one_b:
    case Schedule::zb_h1:
      return {"min(P - r, m)", std::min(behind, m)};
    case Schedule::interleaved:
      return {"min((v - 1)*P + 2*(P - r) - 1, m*v)",
              std::min((p.chunks - 1) * p.ranks + 2 * behind - 1, mul(m, p.chunks))};
    case Schedule::zb_h2:
      return {"min(2*(P - r) - 1, m)", std::min(2 * behind - 1, m)};
    case Schedule::dualpipe:
      return {"P + 1", p.ranks + 1};
    case Schedule::dualpipe_v:
      return {"2*P + 1", 2 * p.ranks + 1};
    case Schedule::zb_1p:
    case Schedule::zb_2p:
    case Schedule::zb_v:
      break;
  }
  return {};
}

/// Micro-batches in flight on the fullest stage: the schedule's formula if it yields the peak, otherwise the maximum
/// counted slot by slot.
Formula stage_in_flight(S s) {
  const Stage stage = fullest_stage_of(s);
  const SavedOfSchedule saved = saved_by_schedule(pipeline_of(s.plan(), s.layout()), stage.rank);
  if (saved.number != stage.in_flight)
    return from_engine(s, "n_f", "counted slot by slot in schedule order, each chunk separately", "stages.in_flight");
  return {saved.formula,
          {{"r", "stage index, from 0", number_text(stage.rank)},
           {"v", "chunks per stage", number_text(s.layout().chunks)}}};
}

Formula stage_for_weights(S s) {
  return from_engine(s, "n_w",
                     "counted slot by slot: micro-batches with input gradients done and weight gradients pending",
                     "stages.for_weights");
}

Formula layers_of_stage(S s) {
  return from_engine(s, "L_r", "distributed to minimize the time of the slowest rank, or set by --stage-layers",
                     "stages.layers");
}

constexpr std::string_view with_stages = "--pp N";
constexpr std::string_view of_fullest = "of the stage with the highest memory use; JSON lists all stages";
constexpr Definition pipeline_table[] = {
    {"layout.gpus", "GPUs of the run", "",
     [](S s) -> Formula {
       return {"T*c*P*n_d",
               {{"c", "context-parallel ranks", number_text(ranks(s.layout(), Group::context))},
                {"n_d", "data-parallel ranks", number_text(s.layout().dp)}}};
     },
     "tp x cp x pp x dp; expert parallelism reuses these ranks", "Megatron-Core"},
    {"layout.dp", "data-parallel ranks", "",
     [](S s) -> Formula {
       return {"gpus/(T*c*P)", {{"c", "context-parallel ranks", number_text(ranks(s.layout(), Group::context))}}};
     },
     "", "Megatron-Core"},
    {"layout.micro_batches", "micro-batches per step and replica", "",
     [](S s) -> Formula {
       return {"B_g/(n_r*B)", {{"B_g", "sequences per step", number_text(s.plan().global_batch)}}};
     },
     "whole micro-batches", "Megatron-Core"},
    {"stages.layers", "layers per stage", "", layers_of_stage, of_fullest, "Narayanan 2021 (arXiv:2104.04473)",
     with_stages},
    {"stages.in_flight", "peak micro-batches in flight per stage, over all chunks", "", stage_in_flight, of_fullest,
     "Narayanan 2021 (arXiv:2104.04473); zero bubble arXiv:2401.10241; DualPipe arXiv:2412.19437", with_stages},
    {"stages.for_weights", "in-flight micro-batches with only weight gradients pending", "", stage_for_weights,
     of_fullest, "zero bubble arXiv:2401.10241", "--pp N with a schedule that splits backward (--schedule zb-h1)"},
};

}  // namespace

std::span<const Definition> pipeline_definitions() { return pipeline_table; }

}  // namespace llmcalc::explain
