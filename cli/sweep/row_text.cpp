#include "cli/sweep/row_text.hpp"

#include <algorithm>

#include "report/render/records.hpp"
#include "report/render/render.hpp"

namespace llmcalc {
namespace {

template <typename All, typename Text>
std::string csv_record(const All& all, const Text& text) {
  std::string line;
  for (std::size_t i = 0; i < all.size(); ++i) line += (i == 0 ? "" : ",") + csv_cell(text(all[i]));
  return line + "\r\n";
}

std::string json_line(const std::vector<std::string>& header, const RowCells& row) {
  std::string line = "{";
  for (std::size_t i = 0; i < row.size(); ++i)
    line += (i == 0 ? "" : ",") + dump_line(header[i]) + ":" + dump_line(row[i]);
  return line + "}\n";
}

}  // namespace

std::string cell_text(const json::Value& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  std::string text = dump_line(value);
  return text == "null" ? "" : text;  // not finite, so it has no digits
}

std::string header_text(TextFormat format, const std::vector<std::string>& header) {
  return format == TextFormat::csv ? csv_record(header, [](const std::string& name) { return name; }) : "";
}

std::string row_text(TextFormat format, const std::vector<std::string>& header, const RowCells& row) {
  return format == TextFormat::csv ? csv_record(row, cell_text) : json_line(header, row);
}

void RecordReader::read(std::string_view piece) {
  for (const char c : piece) {
    record_ += c;
    ++bytes_;
    if (is_csv_ && c == '"') quoted_ = !quoted_;
    if (c == '\n' && !quoted_) end_record();
  }
}

void RecordReader::end_record() {
  constexpr std::size_t most = 16;
  if (!first_) first_ = record_;
  if (rows_ >= 0 && rows_ % distance_ == 0) sample_.emplace_back(rows_, record_);
  if (sample_.size() > most) {
    distance_ *= 2;
    std::erase_if(sample_, [&](const auto& one) { return one.first % distance_ != 0; });
  }
  last_ = std::move(record_);
  record_.clear();
  ++rows_;
  whole_bytes_ = bytes_;
}

std::vector<std::pair<Count, std::string>> RecordReader::sample() const {
  auto all = sample_;
  if (rows_ > 0 && all.back().first != rows_ - 1) all.emplace_back(rows_ - 1, last_);
  return all;
}

}  // namespace llmcalc
