#include "cli/commands/ask.hpp"
#include "ask/request/check/check.hpp"
#include "report/render/render.hpp"

#include <sstream>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

bool fits(const Report& report) {
  for (const char* path : {"memory.fits", "inference_memory.fits"})
    if (const Row* row = report.row(path); row != nullptr && !std::get<bool>(row->value)) return false;
  return true;
}

}  // namespace

Request request(const Question& question, const Arguments& arguments) {
  if (question.needs_hardware && !arguments.has("--hardware"))
    throw InputError(
        fmt::format("'llmcalc {}' needs --hardware HW; 'llmcalc list hardware' shows what there is", question.name));
  Request r;
  r.model = load_model(arguments.word("MODEL"));
  arguments.apply(r);
  check(r);
  return r;
}

int ask(const Question& question, const Arguments& arguments) {
  return print_answer(question, request(question, arguments), arguments.screen());
}

int print_answer(const Question& question, const Request& r, const Screen& screen) {
  const Report report = answer(question, r);
  const int code = print(report, screen);
  return r.require_fit && !fits(report) ? 1 : code;
}

int print(const Report& report, const Screen& screen) {
  try {
    write_out(render(report, screen));
  } catch (const PipeClosed&) {  // the exit code still says what was found
  }
  return 0;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string w; in >> w;) all.push_back(w);
  return all;
}

}  // namespace llmcalc
