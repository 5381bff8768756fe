#include "report/ask_many.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "report/ask.hpp"
#include "report/render/render.hpp"
#include "report/sweep/asked_points.hpp"
#include "report/sweep/point_answers.hpp"
#include "text/error.hpp"
#include "text/json.hpp"

namespace llmcalc {
namespace {

/// Calls work(next), where next() returns the numbers below n, each once, on every share of the runner.
template <typename Work>
void share_numbers(Runner& runner, std::size_t n, const Work& work) {
  std::atomic<std::size_t> taken = 0;
  const auto next = [&]() -> std::optional<std::size_t> {
    const std::size_t i = taken++;
    return i < n ? std::optional(i) : std::nullopt;
  };
  runner.each(std::min(runner.width(), n), [&](std::size_t) { work(next); });
}

std::string joined(const std::vector<std::string>& texts, std::string_view separator) {
  std::size_t size = 0;
  for (const std::string& text : texts) size += text.size() + separator.size();
  std::string all;
  all.reserve(size);
  for (const std::string& text : texts) all.append(&text == texts.data() ? "" : separator).append(text);
  return all;
}

std::string answers_text(const json::Value& requests, Runner& runner) {
  std::vector<std::string> texts(requests.size());
  share_numbers(runner, texts.size(), [&](const auto& next) {
    Runner serial;
    while (const auto i = next()) texts[*i] = ask_text(requests[*i], serial);
  });
  return "[\n" + joined(texts, ",\n") + "]\n";
}

std::string row_line(const RowCells& cells) {
  std::string line;
  for (const json::Value& cell : cells) line += (line.empty() ? "[" : ", ") + dump_line(cell);
  return line + "]";
}

/// The lines of all rows, in blocks that the shares take in turn.
std::string rows_text(const SweepPoints& points, const std::vector<Column>& columns, Runner& runner) {
  constexpr Count in_block = 256;
  const Count all = points.size();
  std::vector<std::string> blocks(static_cast<std::size_t>(ceil_div(all, in_block)));
  share_numbers(runner, blocks.size(), [&](const auto& next) {
    Runner serial;
    PointAnswers answers(points, columns, serial);
    while (const auto block = next()) {
      std::string text;
      const Count begin = static_cast<Count>(*block) * in_block;
      for (Count i = begin; i < std::min(all, begin + in_block); ++i)
        text += (text.empty() ? "" : ",\n") + row_line(*answers.row(i));
      blocks[*block] = std::move(text);
    }
  });
  return joined(blocks, ",\n");
}

std::string sweep_text(const json::Value& request, Runner& runner) {
  const AskedSweep sweep = read_sweep(request);
  const std::string_view command = sweep.points.command->name;
  const Question* question = find_question(command);
  const json::Value answer = first_answer(sweep.points, runner);
  std::vector<std::string> fields = sweep.fields;
  if (fields.empty())
    fields = usual_columns(command, answer);
  else
    check_columns(fields, question, command, answer, "\"fields\"");
  const std::string rows = rows_text(sweep.points, columns_at(question, fields), runner);
  return "{\"columns\": " + dump_line(json::Value(sweep_header(sweep.points, fields))) + ",\n\"rows\": [\n" + rows +
         "\n]}\n";
}

std::string many_text(std::string_view requests, Runner& runner) {
  const json::Value asked = json::parse(requests, "the requests");
  if (asked.is_array()) return answers_text(asked, runner);
  if (asked.is_object()) return sweep_text(asked, runner);
  throw InputError("expected a list of requests, or a sweep: {\"base\", \"ranges\" or \"points\", \"fields\"}");
}

}  // namespace

std::string ask_many_text(std::string_view requests, Runner& runner) {
  try {
    return many_text(requests, runner);
  } catch (const InputError& e) {
    return error_text(e.what());
  } catch (const Overflow&) {
    return error_text(std::string(overflow_sentence));
  }
}

}  // namespace llmcalc
