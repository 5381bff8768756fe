// Times of inference rows, and the engines for which they are estimated.

#include "evidence/inference_times.hpp"

#include "evidence/convert/inference/inference_conversion.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/fit/inference_fit.hpp"
#include "evidence/names/inference_stack.hpp"
#include "evidence/prediction.hpp"
#include "evidence/rows/measurement_file.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;

namespace {

/// Case of the first row that satisfies the condition.
template <typename Is>
InferenceCase first_case(const Is& is) {
  for (const InferenceRow& row : test::inference_rows())
    if (InferenceCase c = inference_case(row, test::devices_once()); c.skip.empty() && is(c)) return c;
  throw std::runtime_error("no such row");
}

InferenceStack stack_under(const char* engine, const char* version) {
  InferenceCase c;
  c.engine.name = engine;
  c.engine.version = version;
  return inference_stack(c);
}

Figure figure_of(FigureKind kind) {
  Figure f;
  f.quantity = kind;
  return f;
}

bool is_time(FigureKind kind) {
  return kind == FigureKind::time_per_token || kind == FigureKind::decode_step || kind == FigureKind::decode_time ||
         kind == FigureKind::first_token || kind == FigureKind::prefill_time || kind == FigureKind::whole_time;
}

}  // namespace

TEST_CASE("no published figure is estimated faster than its bound", "[inference-times]") {
  std::size_t seen = 0;
  for (const InferenceRow& row : test::inference_rows()) {
    const InferenceCase c = inference_case(row, test::devices_once());
    if (!c.skip.empty() || c.cluster().device.peak(c.plan.precision).value <= 0) continue;
    const PredictedCase predicted(c);
    for (const Figure& f : c.figures) {
      const std::optional<double> bound = predicted.bound(f);
      if (!bound) continue;
      // With faster answers, clients of a closed loop return sooner, and wait longer for an engine for prompts.
      if (c.prompt_pool && f.quantity == FigureKind::first_token) continue;
      INFO(row.id << " " << f.key);
      const double slower =
          is_time(f.quantity) ? predicted.figure(f)->value / *bound : *bound / predicted.figure(f)->value;
      CHECK(slower >= 1 - 1e-9);
      ++seen;
    }
  }
  CHECK(seen > 1000);
}

TEST_CASE("the version of an engine selects its serving loop", "[inference-times]") {
  CHECK(stack_under("vllm", "0.6.3").loop == ServingLoop::vllm_legacy);
  CHECK(stack_under("vllm", "0.6.3").prompts_first);
  CHECK(stack_under("vllm", "0.10.2").loop == ServingLoop::vllm);
  CHECK_FALSE(stack_under("vllm", "").prompts_first);
  CHECK(stack_under("tensorrt-llm", "0.5.0").loop == ServingLoop::tensorrt_legacy);
  CHECK(stack_under("tensorrt-llm", "1.1.0rc2").loop == ServingLoop::tensorrt);
  CHECK(stack_under("torchao", "").launching == Launching::compiled);
  CHECK(stack_under("atom", "0.1") == stack_under("vllm", ""));
  CHECK(stack_under("llama.cpp", "2024-03").launching == Launching::local);
  CHECK(stack_under("llama.cpp", "2023-01").launching == Launching::local);  // before the first known version
  for (const char* graphs : {"b9187", "2024-06", "0.32.1", ""})              // "0.32.1" is a version of Ollama
    CHECK(stack_under("llama.cpp", graphs).launching == Launching::local_graphs);
  CHECK(stack_under("an engine of tomorrow", "") == stack_under("vllm", ""));
}

TEST_CASE("an engine without graph capture launches its kernels one by one", "[inference-times]") {
  InferenceCase c;
  c.engine.name = "vllm";
  c.engine.eager = true;
  CHECK(inference_stack(c).launching == Launching::eager);
}

TEST_CASE("prompts of other requests delay first tokens and lengthen the time per token", "[inference-times]") {
  InferenceCase c = first_case([](const InferenceCase& x) {
    return x.kind == BatchKind::concurrency && !x.decode_window && x.batch >= 16 && x.prompt > 500;
  });
  const Figure token = figure_of(FigureKind::time_per_token), first = figure_of(FigureKind::first_token);
  const InferenceStack stack = inference_stack(c);
  const InferenceTimes served(c, stack, c.cluster());
  InferenceCase one_batch = c;
  one_batch.kind = BatchKind::fixed;
  InferenceCase alone = c;
  alone.batch = 1;
  alone.plan.batch = 1;
  CHECK(*served.figure(token) > *InferenceTimes(one_batch, stack, c.cluster()).figure(token));
  CHECK(*served.figure(first) > *InferenceTimes(alone, stack, c.cluster()).figure(first));
}

TEST_CASE("request overhead outside passes delays the first token only under load", "[inference-times]") {
  InferenceCase c =
      first_case([](const InferenceCase& x) { return x.kind == BatchKind::concurrency && !x.decode_window; });
  const Figure first = figure_of(FigureKind::first_token);
  const InferenceStack stack = inference_stack(c);
  const auto waits = [&](Seconds request) {
    return *InferenceTimes(c, stack, c.cluster(), {.request = request}).figure(first);
  };
  CHECK(waits(Seconds(0.5)) == Approx(waits(Seconds()) + 0.5));
  c.kind = BatchKind::fixed;
  CHECK(waits(Seconds(0.5)) == waits(Seconds()));
}

TEST_CASE("the first wave of clients that start together waits longer", "[inference-times]") {
  InferenceCase c =
      first_case([](const InferenceCase& x) { return x.kind == BatchKind::concurrency && x.batch == 16; });
  c.requests = 160;
  const InferenceStack stack = inference_stack(c);
  const auto mean = [&](double delay) {
    return *InferenceTimes(c, stack, c.cluster(), {.first_wave = Seconds(delay)})
                .figure(figure_of(FigureKind::first_token));
  };
  CHECK(mean(2) == Approx(mean(0) + 2 * 16 / 160.0));
  c.start = ClientStart::spread;
  CHECK(mean(2) == mean(0));
}

TEST_CASE("clients spread in time wait less for their first tokens than clients that start together",
          "[inference-times]") {
  InferenceCase c = first_case(
      [](const InferenceCase& x) { return x.kind == BatchKind::concurrency && x.batch >= 32 && x.prompt > 500; });
  const InferenceStack stack = inference_stack(c);
  const auto value = [&](FigureKind kind) { return *InferenceTimes(c, stack, c.cluster()).figure(figure_of(kind)); };
  const double together = value(FigureKind::first_token);
  c.start = ClientStart::spread;
  CHECK(value(FigureKind::first_token) < together);
  CHECK(value(FigureKind::output_rate) == Approx(c.batch * c.generate / value(FigureKind::whole_time)));
}

TEST_CASE("figures with an assumed input form a separate error class", "[inference-times]") {
  InferenceCase c;
  CHECK(inference_class(c, FigureKind::time_per_token) == InferenceClass::decode);
  c.kind = BatchKind::concurrency;
  CHECK(inference_class(c, FigureKind::time_per_token) == InferenceClass::served_decode);
  CHECK(inference_class(c, FigureKind::first_token) == InferenceClass::first_token);
  c.input_assumed = true;
  CHECK(inference_class(c, FigureKind::time_per_token) == InferenceClass::assumed);
  CHECK_FALSE(inference_class(c, FigureKind::memory).has_value());
}
