#include "evidence/logs/memory_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/error.hpp"

namespace llmcalc {

namespace {

struct SummaryRow {
  std::string_view words;
  std::optional<UsageNow> MemorySummary::*usage;
};
constexpr std::array summary_rows{SummaryRow{"Allocated memory", &MemorySummary::allocated},
                                  SummaryRow{"Active memory", &MemorySummary::active},
                                  SummaryRow{"Requested memory", &MemorySummary::requested},
                                  SummaryRow{"GPU reserved memory", &MemorySummary::reserved},
                                  SummaryRow{"Non-releasable memory", &MemorySummary::non_releasable}};

constexpr std::string_view heading = "memory summary, device ID ";

/// Size in a cell. Sizes are truncated to whole units, so the true size may be up to one unit larger.
std::optional<LoggedBytes> cell(std::string_view& row, const LogLine& line) {
  const std::size_t bar = row.find('|');
  if (bar == std::string_view::npos) return std::nullopt;
  row.remove_prefix(bar + 1);
  row.remove_prefix(std::min(row.find_first_not_of(' '), row.size()));
  auto size = size_at(row, line);
  if (size) size->within = size->within + size->within;
  return size;
}

void read_row(const LogLine& line, MemorySummary& table) {
  for (const SummaryRow& r : summary_rows) {
    auto rest = line.behind(r.words);
    if (!rest) continue;
    const auto current = cell(*rest, line), peak = cell(*rest, line);
    if (current && peak) table.*r.usage = UsageNow{*current, *peak};
    return;
  }
  if (const auto n = line.count_behind("CUDA OOMs: ")) table.failures = n;
}

void check_peaks(const LogLine& line, const MemorySummary& t) {
  const auto above = [](const LoggedBytes& a, const LoggedBytes& b) { return a.bytes > b.bytes + a.within + b.within; };
  for (const SummaryRow& r : summary_rows)
    if (const auto& usage = t.*r.usage; usage && above(usage->current, usage->peak))
      throw InputError(fmt::format("{}: the current usage of {} is above its peak; pass the unmodified PyTorch table",
                                   line.where(), r.words));
  if (t.allocated && t.reserved && above(t.allocated->peak, t.reserved->peak))
    throw InputError(
        fmt::format("{}: allocated memory exceeds reserved memory; pass the unmodified PyTorch table", line.where()));
}

void keep(MemorySummaryLog& log, const MemorySummary& table, const LogLine& end) {
  if (!table.allocated && !table.reserved) return;
  check_peaks(end, table);
  const auto same = std::find_if(log.devices.begin(), log.devices.end(),
                                 [&](const MemorySummary& t) { return t.device == table.device; });
  if (same == log.devices.end()) {
    log.devices.push_back(table);
  } else {
    *same = table;
    ++log.repeats;
  }
}

}  // namespace

MemorySummaryLog read_memory_summary(const std::vector<LogLine>& lines) {
  MemorySummaryLog log;
  MemorySummary table;
  for (const LogLine& line : lines) {
    if (line.says(heading)) {
      keep(log, table, line);
      table = {};
      table.device = line.count_behind(heading);
    }
    if (line.says("|")) read_row(line, table);
  }
  if (!lines.empty()) keep(log, table, lines.back());
  return log;
}

}  // namespace llmcalc
