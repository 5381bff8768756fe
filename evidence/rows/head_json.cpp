#include "evidence/rows/head_json.hpp"

#include <fmt/format.h>

#include "evidence/rows/json_fields.hpp"
#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "presets/model_file.hpp"
#include "text/date.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr const char* not_stated = "not stated";

template <typename Io, typename Head>
void head_fields(Io& io, Head& h) {
  io("id", h.id);
  io("family", h.family, std::string(not_stated));
  io("quality", h.quality);
  io("date", h.date);
  io.object("source", [&](auto& in) {
    in("title", h.source.title);
    in("url", h.source.url);
    in("table", h.source.table);
    in("how", h.source.how);
    in("confidence", h.source.confidence);
  });
}

}  // namespace

json::Value head_json(const MeasurementHead& head, const char* command) {
  json::Value v = json::Value::object();
  FieldWriter io(v);
  head_fields(io, head);
  v["command"] = command;
  return v;
}

MeasurementHead read_head(const json::Object& row, const std::string& where) {
  MeasurementHead h{.where = where};
  FieldReader io(row);
  head_fields(io, h);
  if (!h.date.empty() && !is_date(h.date))
    throw InputError(
        fmt::format("{}, \"date\": expected a date such as 2026-03-28 or 2026-03, got {}", where, in_quotes(h.date)));
  if (h.id.empty()) throw InputError(where + ": \"id\" is missing; every row needs a unique id");
  return h;
}

ModelCard measured_model(const json::Object& row) {
  const json::Value* v = row.find("model");
  if (v == nullptr) throw InputError(row.where() + ": \"model\" is missing");
  if (v->is_string()) return load_model(v->get<std::string>());
  const std::string where = row.where() + ", \"model\"";
  return is_model_file(*v) ? read_model_file(*v, where) : import_config(*v, where);
}

}  // namespace llmcalc
