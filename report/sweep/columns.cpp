#include "report/sweep/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "ask/request/options/options.hpp"
#include "report/schema/report_schema.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

using Paths = std::vector<std::string>;

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('.')); }

bool is_under(std::string_view path, std::string_view key) {
  return path.size() > key.size() + 1 && path.starts_with(key) && path[key.size()] == '.';
}

const Option* input_at(std::string_view path) {
  if (!is_under(path, "inputs")) return nullptr;
  const std::string_view key = path.substr(path.find('.') + 1);
  for (const Option& o : options())
    if (o.field.effective != nullptr && o.key() == key) return &o;
  return nullptr;
}

bool is_head(std::string_view path) {
  constexpr std::array parts{"model", "hardware", "inputs", "layout"};
  return std::find(parts.begin(), parts.end(), first_part(path)) != parts.end();
}

bool is_fit(std::string_view path) {
  return path == "verdict.fit" || path == "verdict.fit_probability" || path == "possible";
}

/// Appends the paths of all single values of an answer.
void add_paths(const json::Value& value, const std::string& path, Paths& all) {
  if (!value.is_object()) {
    if (!value.is_array()) all.push_back(path);
    return;
  }
  for (const auto& [key, part] : value.items()) add_paths(part, path.empty() ? key : path + "." + key, all);
}

/// Appends the paths of all single values in the JSON Schema.
void add_schema_paths(const json::Value& schema, const std::string& path, Paths& all) {
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    for (const auto& [key, part] : properties->items())
      add_schema_paths(part, path.empty() ? key : path + "." + key, all);
  } else if (const auto type = schema.find("type"); type == schema.end() || (*type != "array" && *type != "object")) {
    all.push_back(path);
  }
}

/// Whether answers of the command may have this part.
bool has_part(const Question* question, const json::Value& answer, std::string_view part) {
  constexpr std::array of_serve{"serving", "steady_state", "engine_memory", "inference_estimate"};
  if (answer.is_null() || answer.contains(part) || part == "possible" || part == "verdict") return true;
  if (question == nullptr) return std::find(of_serve.begin(), of_serve.end(), part) != of_serve.end();
  return std::any_of(question->sections.begin(), question->sections.end(),
                     [&](const SectionRow& row) { return first_part(row.key) == part; });
}

/// Whether the JSON Schema lists the object at this path without its keys, as it does for "layout".
bool is_open_object(std::string_view path) {
  const json::Value schema = report_json_schema();
  const json::Value* object = value_at(schema["properties"], first_part(path));
  return object != nullptr && !object->contains("properties") && value_at(*object, "type") != nullptr &&
         (*object)["type"] == "object";
}

Paths known_paths(const Question* question, const json::Value& answer) {
  Paths all, possible;
  if (!answer.is_null()) add_paths(answer, "", all);
  add_schema_paths(report_json_schema(), "", possible);
  for (std::string& path : possible)
    if (has_part(question, answer, first_part(path))) all.push_back(std::move(path));
  return all;
}

struct UsualColumns {
  std::string_view command, paths;
};
constexpr std::array usual_columns_of{
    UsualColumns{"params",
                 "parameters.total,parameters.active,parameters.non_embedding,parameters.embedding,"
                 "parameters.attention,parameters.mlp,parameters.norm,parameters.lm_head"},
    UsualColumns{"memory",
                 "memory.weights_bytes,memory.gradients_bytes,memory.optimizer_bytes,"
                 "memory.activations_bytes,memory.peak_bytes,memory.process.needed_bytes,"
                 "inference_memory.weights_bytes,inference_memory.kv_cache_bytes,"
                 "inference_memory.peak_bytes,verdict.fit"},
    UsualColumns{"flops",
                 "flops.forward,flops.backward,flops.recompute,flops.model_total,flops.hardware_total,"
                 "flops.executed,flops.per_token,flops.formulas.6nd"},
    UsualColumns{"train",
                 "step.time_s,step.time_low_s,step.time_high_s,step.tokens_per_s,step.mfu,step.bound,"
                 "memory.peak_bytes,memory.process.needed_bytes,layout.gpus,verdict.fit"},
    UsualColumns{"infer",
                 "prefill.time_s,decode.time_per_token_s,decode.tokens_per_s,end_to_end.ttft_s,"
                 "end_to_end.total_s,end_to_end.usd_per_1m_tokens,inference_memory.peak_bytes,"
                 "limits.max_batch,limits.max_context,verdict.fit"},
    UsualColumns{"report",
                 "parameters.total,flops.model_total,step.time_s,step.mfu,memory.peak_bytes,prefill.time_s,"
                 "decode.time_per_token_s,decode.tokens_per_s,limits.max_batch,inference_memory.peak_bytes,"
                 "verdict.fit"},
    UsualColumns{"serve",
                 "serving.ttft_s.mean,serving.ttft_s.p95,serving.tpot_s.mean,serving.tpot_s.p95,"
                 "serving.throughput_out_tok_s,serving.capacity_req_s,serving.utilization,"
                 "serving.kv_occupancy,serving.usd_per_1m_output,serving.goodput_req_s,verdict.fit"}};

Column column_at(const Question* question, std::string path) {
  Column c{.path = std::move(path)};
  if (question == nullptr) return c;
  for (std::size_t i = 0; i < question->sections.size(); ++i)
    if (is_under(c.path, question->sections[i].key)) c.sections.push_back(i);
  c.input = input_at(c.path);
  c.source = !c.sections.empty()  ? ColumnSource::sections
             : c.input != nullptr ? ColumnSource::input
             : is_head(c.path)    ? ColumnSource::head
             : is_fit(c.path)     ? ColumnSource::fit
                                  : ColumnSource::whole;
  return c;
}

}  // namespace

std::vector<Column> columns_at(const Question* question, const std::vector<std::string>& paths) {
  std::vector<Column> all;
  for (const std::string& path : paths) all.push_back(column_at(question, path));
  return all;
}

std::vector<std::string> listed_paths(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text + ",");
  for (std::string path; std::getline(in, path, ',');) all.push_back(path);
  return all;
}

std::vector<std::string> usual_columns(std::string_view command, const json::Value& answer) {
  const auto row = std::find_if(usual_columns_of.begin(), usual_columns_of.end(),
                                [&](const UsualColumns& u) { return u.command == command; });
  std::vector<std::string> paths = listed_paths(std::string(row->paths));
  if (!answer.is_null()) std::erase_if(paths, [&](const std::string& p) { return value_at(answer, p) == nullptr; });
  return paths;
}

const json::Value* value_at(const json::Value& object, std::string_view path) {
  const json::Value* here = &object;
  while (true) {
    const std::size_t dot = path.find('.');
    if (!here->is_object()) return nullptr;
    const auto found = here->find(std::string(path.substr(0, dot)));
    if (found == here->end()) return nullptr;
    here = &*found;
    if (dot == std::string_view::npos) return here;
    path.remove_prefix(dot + 1);
  }
}

void check_columns(const std::vector<std::string>& paths, const Question* question, std::string_view command,
                   const json::Value& answer, std::string_view where) {
  const Paths known = known_paths(question, answer);
  for (auto path = paths.begin(); path != paths.end(); ++path) {
    if (std::find(paths.begin(), path, *path) != path)
      throw InputError(fmt::format("{}: {} is specified twice; specify it once", where, *path));
    if (std::find(known.begin(), known.end(), *path) != known.end()) continue;
    if (answer.is_null() && is_open_object(*path)) continue;
    const json::Value* value = value_at(answer, *path);
    if (value != nullptr)
      throw InputError(fmt::format("{}: {} is {}; name one of its values", where, in_quotes(*path),
                                   value->is_array() ? "a list" : "an object"));
    throw InputError(fmt::format("{}: {} is not a value of '{} --json'{}", where, in_quotes(*path), command,
                                 suggestion(*path, known)));
  }
}

}  // namespace llmcalc
