#include "report/checkpoint_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "presets/header/tensor_group.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Tensors of one group.
struct GroupRow {
  Count tensors = 0;
  Bytes bytes{};
  std::map<std::string, Bytes> formats;
};

/// The group's formats, under their names in the file, sorted by total bytes, largest first.
std::string formats_of(const GroupRow& row) {
  std::vector<std::pair<std::string, Bytes>> all(row.formats.begin(), row.formats.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, bytes] : all) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::map<std::string, GroupRow> group_rows(const Checkpoint& c, Count predicting) {
  std::map<std::string, GroupRow> rows;
  for (const auto& [first, tensors] : c.tensors.by_type()) {
    GroupRow& row = rows[std::string(tensor_group(first->name, predicting).name)];
    const Bytes bytes(mul(tensors, first->type->bytes.value));
    row.tensors += tensors;
    row.bytes += bytes;
    row.formats[first->type->format] += bytes;
  }
  return rows;
}

Grid groups_grid(const std::map<std::string, GroupRow>& rows) {
  Grid g{.key = "groups",
         .title = "tensors",
         .columns = {"group", "formats", "tensors", "bytes", "size"},
         .left = 2,
         .rows = {}};
  std::vector<std::pair<std::string, GroupRow>> all(rows.begin(), rows.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  for (const auto& [name, row] : all) {
    g.rows.push_back({name, formats_of(row), exact_text(row.tensors), exact_text(row.bytes.value),
                      human_text(row.bytes.value, Unit::bytes)});
    json::Value formats = json::Value::object();
    for (const auto& [format, bytes] : row.formats) formats[format] = bytes.value;
    g.json.push_back(
        {{"group", name}, {"tensors", row.tensors}, {"bytes", row.bytes.value}, {"formats", std::move(formats)}});
  }
  return g;
}

std::string dimensions_text(const std::vector<Count>& shape) {
  std::string text;
  for (const Count n : shape) text += fmt::format("{}{}", text.empty() ? "" : " x ", n);
  return text.empty() ? "1 number" : text;
}

/// For each type, by index, whether its tensors are not recognized.
std::vector<bool> unknown_types(const Checkpoint& c, Count predicting) {
  std::vector<bool> unknown(c.tensors.types());
  for (const TensorsOfType& k : c.tensors.by_type())
    unknown[k.first->type->index] = tensor_group(k.first->name, predicting).name == unknown_group;
  return unknown;
}

Grid unknown_grid(const Checkpoint& c, Count predicting) {
  Grid g{.key = "not_recognised",
         .title = "not recognized",
         .columns = {"tensor", "format", "shape", "bytes"},
         .left = 3,
         .rows = {}};
  const std::vector<bool> unknown = unknown_types(c, predicting);
  for (const auto& [name, type, offset] : c.tensors) {
    if (!unknown[type->index]) continue;
    g.rows.push_back({printable(name), type->format, dimensions_text(type->shape), exact_text(type->bytes.value)});
    g.json.push_back(
        {{"tensor", name}, {"format", type->format}, {"shape", type->shape}, {"bytes", type->bytes.value}});
  }
  return g;
}

}  // namespace

Report checkpoint_report(const Checkpoint& c) {
  const Count predicting = first_predicting_layer(c);
  Report report;
  report.command = "show";
  report.title = fmt::format("{}: {} in {}", c.where, counted(static_cast<Count>(c.tensors.size()), "tensor"),
                             counted(static_cast<Count>(c.files.size()), "file"));
  report.inputs = {{"files", c.files}};
  if (c.is_gguf()) report.inputs["keys"] = c.keys;
  Section s{.key = "checkpoint", .title = "bytes", .rows = {}};
  s.add("tensor_bytes", "tensors", c.tensor_bytes());
  s.add("other_bytes", "headers and padding", c.file_bytes - c.tensor_bytes());
  s.add("file_bytes", "files", c.file_bytes);
  report.sections.push_back(std::move(s));
  report.grids.push_back(groups_grid(group_rows(c, predicting)));
  if (Grid unknown = unknown_grid(c, predicting); !unknown.rows.empty()) report.grids.push_back(std::move(unknown));
  add_notes(report.notes, "checkpoint_caveat", c.caveats);
  return report;
}

}  // namespace llmcalc
