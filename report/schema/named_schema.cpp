#include "report/schema/named_schema.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/schema/answer_schema.hpp"
#include "report/schema/file_schema.hpp"
#include "report/schema/request_schema.hpp"
#include "report/schema/schema_head.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

json::Value schema_of_file(std::string_view kind) {
  json::Value schema = schema_head(kind, fmt::format("llmcalc {} file", kind));
  schema.update(file_form(kind));
  return schema;
}

}  // namespace

std::vector<std::string> schema_names(std::span<const Command> commands) {
  std::vector<std::string> all;
  for (const Command& c : commands)
    if (has_answer_schema(c)) all.emplace_back(c.name);
  all.insert(all.end(), {"request", "error"});
  all.insert(all.end(), file_schema_names().begin(), file_schema_names().end());
  return all;
}

json::Value named_schema(const std::string& name, std::span<const Command> commands) {
  for (const Command& c : commands)
    if (c.name == name && has_answer_schema(c)) return answer_schema(c);
  if (name == "request") return request_schema();
  if (name == "error") return error_schema();
  for (const std::string_view kind : file_schema_names())
    if (kind == name) return schema_of_file(kind);
  throw InputError(fmt::format("unknown schema {}{} ('llmcalc schema --help' lists all)", in_quotes(name),
                               suggestion(name, schema_names(commands))));
}

}  // namespace llmcalc
