#include "report/schema/schema_head.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/report.hpp"

namespace llmcalc {

json::Value schema_head(std::string_view name, std::string title) {
  std::string id(name);
  std::replace(id.begin(), id.end(), ' ', '-');
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"$id", fmt::format("urn:llmcalc:schema:{}:{}", report_schema, id)},
          {"title", std::move(title)}};
}

json::Value scalar() { return {{"type", {"string", "number", "boolean"}}}; }

}  // namespace llmcalc
