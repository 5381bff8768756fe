#include "report/commands/questions.hpp"

#include <fmt/format.h>

#include <array>
#include <sstream>

#include "ask/request/check/check.hpp"
#include "report/commands/launch.hpp"
#include "report/trace/trace.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

constexpr std::array model_word{Word{"MODEL", model_meaning}};
constexpr std::array trace_options{
    Option{"--trace", "FILE", "write the step schedule as a trace for ui.perfetto.dev or chrome://tracing"}};

/// A report without its training half is answered as an 'infer' question.
const Question& answerable(const Question& question, const Request& r) {
  return &question == &report_question && !r.has(part::training) ? infer_question : question;
}

Output answered(const Question& question, const Request& r) {
  Report report = answer(answerable(question, r), r);
  report.command = question.name;
  const bool fit = fits_as_required(report, r.require_fit);
  return {.content = std::move(report), .fits = fit};
}

template <const Question& question>
Output answer_question(const Arguments& arguments, Runner&) {
  const Request r = request(question, arguments);
  return arguments.has("--emit") ? emitted(arguments, r) : answered(question, r);
}

Output answer_train(const Arguments& arguments, Runner&) {
  const Request r = request(train_question, arguments);
  if (arguments.has("--emit")) return emitted(arguments, r);
  const std::string trace = arguments.has("--trace") ? step_trace(r) : "";
  Output output = answered(train_question, r);
  output.trace = trace;
  return output;
}

template <const Question& q>
Command asks(std::string_view arguments, std::string_view summary,
             Output (*answer)(const Arguments&, Runner&) = answer_question<q>, std::span<const Option> own = {}) {
  return {.name = q.name,
          .arguments = arguments,
          .summary = summary,
          .about = q.summary,
          .examples = q.examples,
          .words = model_word,
          .own = own,
          .parts = q.parts,
          .answer = answer};
}

}  // namespace

std::vector<Command> question_commands() {
  return {asks<params_question>("MODEL", "parameters by component"),
          asks<memory_question>("MODEL [--train|--infer]", "memory per GPU: weights, states, cache..."),
          asks<flops_question>("MODEL", "forward, backward; every named formula"),
          asks<train_question>("MODEL --hardware HW", "an optimizer step: time, MFU, days, cost", answer_train,
                               trace_options),
          asks<infer_question>("MODEL --hardware HW", "prefill, decode; limits"),
          asks<report_question>("MODEL --hardware HW", "all of the above")};
}

Request request(const Question& question, const Arguments& arguments) {
  if (question.needs_hardware && !arguments.has("--hardware"))
    throw InputError(
        fmt::format("'llmcalc {}' needs --hardware HW; 'llmcalc list hardware' lists the presets", question.name));
  Request r;
  r.model = arguments.model();
  arguments.apply(r);
  check(r);
  return r;
}

bool fits_as_required(const Report& report, RequiredFit required) {
  if (required == RequiredFit::none) return true;
  if (required == RequiredFit::yes && report.fit && report.fit->verdict != FitVerdict::yes) return false;
  return fits(report);
}

bool fits(const Report& report) {
  for (const char* path : {"memory.fits", "inference_memory.fits"})
    if (const Row* row = report.row(path); row != nullptr && !std::get<bool>(row->value)) return false;
  return true;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string w; in >> w;) all.push_back(w);
  return all;
}

}  // namespace llmcalc
