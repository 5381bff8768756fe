#include "evidence/profile/operator_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>
#include <tuple>

#include "text/csv.hpp"
#include "text/json.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

namespace fs = std::filesystem;

constexpr const char* dense_file = "dense.csv";
constexpr const char* attention_file = "attention.csv";
constexpr const char* per_sequence_file = "per_sequence.csv";
constexpr const char* experts_file = "moe.csv";
constexpr const char* meta_file = "meta.yaml";

// ---- Folders

bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

/// Name of a folder, even if specified as "." or "x/".
std::string folder_name(const fs::path& folder) {
  std::error_code failed;
  const fs::path whole = fs::canonical(folder, failed);
  return whole.filename().string();
}

/// N in the folder name "tpN". Empty for other names.
std::optional<Count> ranks_said(const std::string& name) {
  const std::string_view number = std::string_view(name).substr(std::min<std::size_t>(2, name.size()));
  const bool digits = !number.empty() && number.size() < 7 && number[0] != '0' &&
                      number.find_first_not_of("0123456789") == std::string_view::npos;
  if (!name.starts_with("tp") || !digits) return std::nullopt;
  return parse_count(number, name);
}

bool holds_tables(const fs::path& folder) {
  if (ranks_said(folder_name(folder))) return true;
  constexpr std::array files{dense_file, attention_file, per_sequence_file, experts_file};
  return std::any_of(files.begin(), files.end(), [&](const char* file) { return is_there(folder / file); });
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> all;
  fs::directory_iterator next(folder, failed);
  for (std::error_code broken; !failed && next != fs::directory_iterator(); next.increment(failed))
    if (fs::is_directory(next->path(), broken)) all.push_back(next->path());
  if (failed) throw InputError(fmt::format("cannot read the folder '{}': {}", folder.string(), failed.message()));
  std::sort(all.begin(), all.end());
  return all;
}

/// Folders with tables: `folder`, or those at most `levels` levels below it.
void add_table_folders(const fs::path& folder, int levels, std::vector<fs::path>& all) {
  if (holds_tables(folder)) {
    all.push_back(folder);
    return;
  }
  if (levels == 0) return;
  for (const fs::path& inner : folders_in(folder)) add_table_folders(inner, levels - 1, all);
}

void refuse_unless_folder(const std::string& folder) {
  if (!is_there(folder)) throw InputError(fmt::format("cannot read '{}': no such folder", folder));
  std::error_code failed;
  if (!fs::is_directory(folder, failed))
    throw InputError(fmt::format("'{}' is a file; pass the folder of a device, a model or tpN", folder));
}

// ---- meta.yaml

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view around = " \t\r'\"";
  const std::size_t begin = text.find_first_not_of(around);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(around) + 1 - begin);
}

void take_meta(TableOrigin& origin, std::string_view key, std::string_view value, bool top) {
  const auto take = [&](std::string_view name, std::string& to) {
    if (top && key == name && to.empty()) to = value;
  };
  take("gpu", origin.device);
  take("model", origin.model);
  take("variant", origin.format);
  take("vllm_version", origin.engine);
  take("profiled_at", origin.date);
  if (key == "enforce_eager" && !origin.eager && (value == "true" || value == "false")) origin.eager = value == "true";
}

/// Reads the known `key: value` lines. The device may be under `hardware` instead of `gpu`.
TableOrigin meta_of(std::string_view text) {
  TableOrigin origin;
  std::string hardware;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trimmed(line.substr(0, colon)), value = trimmed(line.substr(colon + 1));
    const bool top = line[0] != ' ' && line[0] != '\t';
    take_meta(origin, key, value, top);
    if (top && key == "hardware" && hardware.empty()) hardware = value;
  }
  if (origin.device.empty()) origin.device = hardware;
  return origin;
}

// ---- Rows

/// A measured row. The first elements of `at` are its sizes, one per size column of the file.
struct MeasuredAt {
  std::string layer;
  std::array<Count, 4> at{};
  double us = 0;
  std::size_t line = 0;
};

std::string sizes_text(const MeasuredAt& m, std::span<const std::string_view> names) {
  std::string text = m.layer;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{} {}", text.empty() ? "" : i == 0 ? " at " : ", ", names[i], m.at[i]);
  return text;
}

void refuse_twice(std::vector<MeasuredAt> rows, const std::string& file, std::span<const std::string_view> names) {
  const auto key = [](const MeasuredAt& m) { return std::tie(m.layer, m.at, m.line); };
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i].layer == rows[i - 1].layer && rows[i].at == rows[i - 1].at)
      throw InputError(fmt::format("{}, line {}: {} was already measured in line {}; remove one of the two", file,
                                   rows[i].line, sizes_text(rows[i], names), rows[i - 1].line));
}

/// Sorts rows so that those that differ only in size `axis` are adjacent, smallest first.
void sort_along(std::vector<MeasuredAt>& rows, std::size_t axis) {
  const auto others = [axis](MeasuredAt m) {
    m.at[axis] = 0;
    return m.at;
  };
  std::sort(rows.begin(), rows.end(), [&](const MeasuredAt& a, const MeasuredAt& b) {
    return std::tuple(a.layer, others(a), a.at[axis]) < std::tuple(b.layer, others(b), b.at[axis]);
  });
}

bool same_but(const MeasuredAt& a, const MeasuredAt& b, std::size_t axis) {
  std::array<Count, 4> at = a.at;
  at[axis] = b.at[axis];
  return a.layer == b.layer && at == b.at;
}

void refuse_falling(std::vector<MeasuredAt> rows, const std::string& file, std::span<const std::string_view> names,
                    std::size_t axis) {
  sort_along(rows, axis);
  const MeasuredAt* slowest = nullptr;
  for (const MeasuredAt& m : rows) {
    if (slowest == nullptr || !same_but(*slowest, m, axis)) slowest = &m;
    if (m.us < least_of_smaller * slowest->us)
      throw InputError(fmt::format(
          "{}, line {}: {} takes {} us, less than a third of the {} us at {} {} in line {}; noise and a change of "
          "kernel do not explain this: check units and columns",
          file, m.line, sizes_text(m, names), m.us, slowest->us, names[axis], slowest->at[axis], slowest->line));
    if (m.us > slowest->us) slowest = &m;
  }
}

/// Reads a file's rows and rejects impossible ones. `names`: size columns; `layers`: whether there is a layer column.
std::vector<MeasuredAt> rows_of(const CsvTable& t, bool layers, std::span<const std::string_view> names) {
  std::array<std::size_t, 4> columns{};
  for (std::size_t i = 0; i < names.size(); ++i) columns[i] = t.column(names[i]);
  const std::size_t layer = layers ? t.column("layer") : 0, time = t.column("time_us");
  std::vector<MeasuredAt> rows;
  for (std::size_t r = 0; r < t.size(); ++r) {
    MeasuredAt m{layers ? t.name(r, layer) : "", {}, t.positive(r, time), t.line(r)};
    for (std::size_t i = 0; i < names.size(); ++i) m.at[i] = t.count(r, columns[i]);
    rows.push_back(std::move(m));
  }
  refuse_twice(rows, t.where(), names);
  for (std::size_t axis = 0; axis < names.size(); ++axis) refuse_falling(rows, t.where(), names, axis);
  return rows;
}

/// Rejects rows with a 0 in the first `n` sizes.
void refuse_zero(const std::vector<MeasuredAt>& rows, const std::string& file, std::size_t n,
                 std::span<const std::string_view> names) {
  for (const MeasuredAt& m : rows)
    for (std::size_t i = 0; i < n; ++i)
      if (m.at[i] == 0)
        throw InputError(
            fmt::format("{}, line {}: {} is 0; an empty call has no time, so remove the row", file, m.line, names[i]));
}

Seconds seconds_of(const MeasuredAt& m) { return Seconds(m.us * 1e-6); }

/// Reads the files of one folder.
class TableReader {
 public:
  explicit TableReader(const fs::path& folder) : folder_(folder) {
    t_.path = folder.string();
    const std::string name = folder_name(folder);
    const auto ranks = ranks_said(name);
    if (!ranks)
      throw InputError(fmt::format(
          "'{}' contains tables, but its name lacks the number of tensor-parallel ranks; rename it to tp1, tp2 ...",
          t_.path));
    t_.ranks = *ranks;
    t_.model_folder = folder_name(folder / "..");
    t_.device_folder = folder_name(folder / ".." / "..");
  }

  OperatorTables read() {
    require(dense_file, "layer,tokens,time_us", "projections, norms and activations");
    require(per_sequence_file, "layer,sequences,time_us", "the head and the sampler");
    require(attention_file, "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us", "attention");
    t_.dense = layer_times(dense_file, "tokens");
    t_.per_sequence = layer_times(per_sequence_file, "sequences");
    read_attention();
    if (is_there(folder_ / experts_file)) read_experts();
    t_.has_meta = is_there(folder_ / meta_file);
    if (t_.has_meta) t_.origin = meta_of(json::file_text(path(meta_file)));
    return std::move(t_);
  }

 private:
  std::string path(const char* file) const { return (folder_ / file).string(); }

  void require(const char* file, const char* columns, const char* what) const {
    if (!is_there(folder_ / file))
      throw InputError(
          fmt::format("'{}' has no {} ({}) with the times of {}, which every step requires; measure them, or pass the "
                      "folder that contains them",
                      t_.path, file, columns, what));
  }

  CsvTable table(const char* file) const { return CsvTable(json::file_text(path(file)), path(file)); }

  void note_unread(const CsvTable& t, const char* file, bool layers, std::span<const std::string_view> names) {
    for (const std::string& column : t.columns()) {
      const bool known = column == "time_us" || (layers && column == "layer") ||
                         std::find(names.begin(), names.end(), column) != names.end();
      if (!known) t_.unread.push_back(fmt::format("{}: {}", file, column));
    }
  }

  std::vector<MeasuredAt> rows(const char* file, bool layers, std::span<const std::string_view> names) {
    const CsvTable t = table(file);
    note_unread(t, file, layers, names);
    return rows_of(t, layers, names);
  }

  std::vector<LayerTime> layer_times(const char* file, std::string_view size) {
    const std::array names{size};
    const std::vector<MeasuredAt> all = rows(file, true, names);
    refuse_zero(all, path(file), 1, names);
    std::vector<LayerTime> times;
    for (const MeasuredAt& m : all) times.push_back({m.layer, m.at[0], seconds_of(m)});
    return times;
  }

  void read_attention() {
    constexpr std::array<std::string_view, 4> names{"prefill_chunk", "kv_prefill", "n_decode", "kv_decode"};
    for (const MeasuredAt& m : rows(attention_file, false, names)) {
      if (m.at[0] == 0 && m.at[2] == 0)
        throw InputError(fmt::format(
            "{}, line {}: neither a prompt chunk nor a decoding sequence; an empty call has no time, so remove the row",
            path(attention_file), m.line));
      t_.attention.push_back({m.at[0], m.at[1], m.at[2], m.at[3], seconds_of(m)});
    }
  }

  void read_experts() {
    constexpr std::array<std::string_view, 2> names{"tokens", "activated_experts"};
    const std::vector<MeasuredAt> all = rows(experts_file, false, names);
    refuse_zero(all, path(experts_file), 2, names);
    for (const MeasuredAt& m : all) t_.experts.push_back({m.at[0], m.at[1], seconds_of(m)});
  }

  fs::path folder_;
  OperatorTables t_;
};

}  // namespace

std::vector<OperatorTables> read_operator_tables(const std::string& folder) {
  refuse_unless_folder(folder);
  std::vector<fs::path> folders;
  add_table_folders(folder, 2, folders);
  if (folders.empty())
    throw InputError(fmt::format(
        "'{}' contains no operator tables; expected MODEL/tpN/{} next to {} and {}, and optionally {} and {}", folder,
        dense_file, attention_file, per_sequence_file, experts_file, meta_file));
  std::vector<OperatorTables> all;
  for (const fs::path& one : folders) all.push_back(TableReader(one).read());
  return all;
}

}  // namespace llmcalc
