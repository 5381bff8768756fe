#include <fmt/format.h>

#include <array>
#include <new>

#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/run.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/traffic.hpp"
#include "ask/request/check/serving.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "report/commands/launch.hpp"
#include "report/commands/questions.hpp"
#include "report/commands/serve.hpp"
#include "report/question.hpp"
#include "report/serve/serving_refusal.hpp"
#include "report/serve/serving_report.hpp"
#include "report/serve/serving_trace.hpp"
#include "text/elapsed.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Draws requests. If stopped early, only the requests drawn so far are served.
ServingTraffic watched_traffic(const Request& r, const ServingEngine& e, Runner& runner) {
  runner.show("sampling requests");
  return serving_traffic(r, e, [&] { return !runner.stopped(); });
}

/// Runs the simulation. If stopped early, only the answers so far count.
ServingRun watched_run(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, bool keep_passes,
                       Runner& runner) {
  const Elapsed since;
  runner.show("serving");
  return serving_run(r, e, traffic, keep_passes, [&](Count answered, Count all) {
    const double done = static_cast<double>(answered) / static_cast<double>(all);
    runner.show(fmt::format("{} of {} requests completed{}", answered, all, left_text(since.seconds(), done)));
    return !runner.stopped();
  });
}

Output served(const Request& r, const ServingEngine& e, bool traced, Runner& runner) {
  const ServingTraffic traffic = watched_traffic(r, e, runner);
  ServingRun run = watched_run(r, e, traffic, traced, runner);
  run.run.stopped = run.run.stopped || traffic.stopped;
  Report report = serving_report(r, e, traffic, run);
  const bool fits = fits_as_required(report, r.require_fit);
  return {.content = std::move(report),
          .fits = fits,
          .stopped = run.run.stopped,
          .trace = traced ? serving_trace(run) : ""};
}

}  // namespace

constexpr Question serve_question{
    .name = "serve",
    .summary =
        "Simulates a server under load: time to first token, time per token, throughput, capacity, dollars per million "
        "tokens. Requests are sampled or read from a log, and each request is simulated.",
    .examples =
        "  llmcalc serve llama-3.1-8b --hardware h100 --rate 5 --slo-ttft '500 ms'\n"
        "  llmcalc serve llama-3.1-70b --hardware h100 --tp 4 --users 100 --prompt 4k\n"
        "  llmcalc serve qwen3-32b --hardware h200 --requests log.jsonl",
    .parts = part::inference | part::fit | part::serving | part::simulated | part::time | part::hardware |
             part::styles | part::pictures | part::full | part::launch | part::files,
    .needs_hardware = true,
    .fill = nullptr};

Output serve_answer(Request r, bool traced, Runner& runner) {
  settle_serving(r);
  check_serving(r);
  const ServingEngine e = serving_engine(r);
  if (!holds_a_request(r, e))
    return {.content = refused_serving_report(r, e), .fits = r.require_fit == RequiredFit::none};
  try {
    return served(r, e, traced, runner);
  } catch (const std::bad_alloc&) {
    throw InputError("not enough memory for this many requests; reduce --num-requests");
  }
}

namespace {

Output answer_serve(const Arguments& arguments, Runner& runner) {
  runner.stopped();  // handles signals from here on
  if (arguments.has("--emit")) return emitted(arguments, serving_request(arguments));
  return serve_answer(request(serve_question, arguments), arguments.has("--trace"), runner);
}

constexpr std::array serve_words{Word{"MODEL", model_meaning}};
constexpr std::array own_serve_options{
    Option{"--trace", "FILE", "write passes and requests as a trace for ui.perfetto.dev or chrome://tracing"}};

}  // namespace

Request serving_request(const Arguments& arguments) {
  Request r = request(serve_question, arguments);
  settle_serving(r);
  check_serving(r);
  return r;
}

const Command serve_command{
    .name = "serve",
    .arguments = "MODEL --hardware HW",
    .summary = "a server under load",
    .about = serve_question.summary,
    .examples = serve_question.examples,
    .words = serve_words,
    .own = own_serve_options,
    .parts = serve_question.parts,
    .keys = "model hardware inputs layout serving steady_state engine_memory inference_estimate timeline",
    .answer = answer_serve};

}  // namespace llmcalc
