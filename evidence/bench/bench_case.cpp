#include "evidence/bench/bench_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "ask/request/inputs.hpp"
#include "ask/request/settle.hpp"
#include "calc/elementary.hpp"
#include "evidence/case_check.hpp"
#include "evidence/prediction.hpp"
#include "evidence/rows/engine_fields.hpp"
#include "evidence/rows/figures.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {
namespace {

Count rounded_up_to_one(double x) { return std::max<Count>(1, std::llround(x)); }

/// Sequences in flight.
double bench_batch(const BenchTest& t) { return t.served ? t.clients.value_or(t.requests) : 1; }

Request bench_request(const BenchTest& t, const BenchSetup& setup, const std::string& where) {
  Request r;
  r.parts = inference_parts_of_request | part::run;
  r.model = setup.model;
  r.hardware = setup.hardware;
  json::Value inputs = setup.inputs;
  inputs["batch"] = rounded_up_to_one(bench_batch(t));
  inputs["prompt"] = rounded_up_to_one(t.prompt);
  inputs["generate"] = rounded_up_to_one(t.generate);
  read_inputs(r, inputs, where);
  settle(r);
  r.plan.batch = rounded_up_to_one(bench_batch(t) / static_cast<double>(replicas(r.layout)));
  return r;
}

void put_load(const BenchTest& t, InferenceCase& c) {
  c.batch = bench_batch(t);
  c.prompt = t.served ? t.prompt : std::max(1.0, t.prompt);
  c.generate = std::max(1.0, t.generate);
  c.cached = t.cached;
  if (!t.served) {
    c.decode_context = std::max(1.0, t.cached + t.prompt + t.generate / 2);
    return;
  }
  c.kind = t.clients ? BatchKind::concurrency : BatchKind::max_inflight;
  c.start = t.steady ? ClientStart::spread : ClientStart::together;
  if (!t.steady) c.requests = t.requests;  // otherwise as many as the simulation needs
}

InferenceCase bench_case(const BenchTest& t, const BenchSetup& setup, const std::string& where) {
  const Request r = bench_request(t, setup, where);
  InferenceCase c{.head = {.id = "bench", .where = where, .model = setup.model.name, .gpus = devices(r.layout)}};
  c.arch = r.model.arch;
  c.plan = r.plan;
  c.layout = r.layout;
  c.on = {.hardware = setup.hardware, .like = setup.hardware.name};
  c.engine = setup.engine;
  c.limits = default_limits(c.engine, ranks(c.layout, Group::tensor), setup.hardware);
  c.granted = granted_memory(visible_memory(setup.hardware), c.plan.memory_utilization);
  put_load(t, c);
  c.figures = figures_of(t.measured, c);
  return c;
}

std::string test_text(const BenchTest& t) {
  if (t.steady)
    return fmt::format("{:.1f} requests in progress, {:.0f} + {:.0f} tokens", *t.clients, t.cached + t.prompt,
                       t.generate);
  if (t.served)
    return fmt::format("{:g} {}, {:.0f} + {:.0f} tokens", bench_batch(t), t.clients ? "clients" : "requests at once",
                       t.prompt, t.generate);
  const std::string depth = t.cached > 0 ? fmt::format(" after {:g}", t.cached) : "";
  return t.prompt > 0 ? fmt::format("prompt of {:g}{}", t.prompt, depth)
                      : fmt::format("{:g} tokens{}", t.generate, depth);
}

bool is_time_figure(const Figure& f) {
  return f.quantity == FigureKind::time_per_token || f.quantity == FigureKind::first_token;
}

void add_figures(std::vector<BenchFigure>& all, const BenchTest& t, const InferenceCase& c) {
  const PredictedCase predicted(c);
  for (const Figure& f : c.figures) {
    check_figure(c, f);
    const double value = predicted.figure(f)->value / f.unit;
    all.push_back({test_text(t), f.key, value, f.said, is_time_figure(f) ? f.said / value : value / f.said});
  }
}

/// Geometric mean of the ratios of a figure; absent without the figure.
std::optional<double> mean_ratio(const std::vector<BenchFigure>& figures, std::string_view key) {
  double sum = 0, n = 0;
  for (const BenchFigure& f : figures)
    if (f.key == key) sum += elementary::log(f.ratio), ++n;
  return n > 0 ? std::optional(elementary::exp(sum / n)) : std::nullopt;
}

std::optional<double> first_ratio(const std::vector<BenchFigure>& figures,
                                  std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const auto ratio = mean_ratio(figures, key)) return ratio;
  return std::nullopt;
}

}  // namespace

std::vector<BenchFigure> bench_figures(const BenchRun& run, const BenchSetup& setup, const std::string& where) {
  std::vector<BenchFigure> all;
  for (const BenchTest& t : run.tests) add_figures(all, t, bench_case(t, setup, where));
  return all;
}

BenchRatios bench_ratios(const std::vector<BenchFigure>& figures) {
  return {.decode = first_ratio(figures, {"tpot_ms", "tpot_p50_ms", "itl_ms", "decode_tok_s", "output_tok_s"}),
          .prompt = first_ratio(figures, {"ttft_ms", "ttft_p50_ms", "prefill_tok_s"})};
}

}  // namespace llmcalc
