#pragma once
/// The columns of a sweep: values of a command's JSON answer by their dotted paths.

#include <string>
#include <string_view>
#include <vector>

#include "ask/request/options/options.hpp"
#include "report/question.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The part of an answer that contains a column's value. Parts are computed only if a column needs them.
enum class ColumnSource : std::uint8_t { sections, head, input, fit, whole };

struct Column {
  std::string path;  ///< path of the value: "step.time_s"
  ColumnSource source = ColumnSource::whole;
  std::vector<std::size_t> sections{};  ///< indices of the question's sections; the last one that has the row applies
  const Option* input = nullptr;
};

/// Locations of the values at these paths in a command's answers. `question`: null for serve.
std::vector<Column> columns_at(const Question* question, const std::vector<std::string>& paths);

/// The paths in a list such as "step.time_s,step.mfu".
std::vector<std::string> listed_paths(const std::string& text);
/// About ten columns of a command's answers: those that occur in one answer (null: all).
std::vector<std::string> usual_columns(std::string_view command, const json::Value& answer);

/// The value at a dotted path; null if absent.
const json::Value* value_at(const json::Value& object, std::string_view path);

/// Checks the paths against one answer in JSON (null: no answer) and the keys of all answers. Throws InputError, which
/// begins with `where`, for an unknown path (naming the nearest known one), for the path of an object or list, and for
/// a path listed twice.
void check_columns(const std::vector<std::string>& paths, const Question* question, std::string_view command,
                   const json::Value& answer, std::string_view where = "--columns");

}  // namespace llmcalc
