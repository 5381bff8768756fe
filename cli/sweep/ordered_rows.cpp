#include "cli/sweep/ordered_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "text/elapsed.hpp"

namespace llmcalc {
namespace {

class OrderedRows {
 public:
  OrderedRows(const SweepPoints& points, const std::vector<Column>& columns, Count first, Table& table, Runner& runner)
      : points_(points), columns_(columns), first_(first), all_(points.size()), table_(table), runner_(runner) {
    const auto shares = static_cast<Count>(runner.width());
    block_ = std::clamp<Count>((all_ - first) / (shares * blocks_per_share), 1, largest_block);
    ahead_ = shares * blocks_per_share;
  }

  /// Computes and writes blocks until all are done; runs on every thread.
  void work();
  SweepRun run() const { return run_; }

 private:
  static constexpr Count blocks_per_share = 16, largest_block = 256;

  bool over() const { return failed_ || runner_.stopped(); }
  RowBlock computed(PointAnswers& answers, Count index) const;
  void put(Count index, RowBlock block);
  void write(RowBlock block);

  const SweepPoints& points_;
  const std::vector<Column>& columns_;
  const Count first_, all_;
  Table& table_;
  Runner& runner_;
  Count block_, ahead_;
  std::atomic<Count> next_ = 0;  ///< next block to compute
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::condition_variable moved_;
  Count written_ = 0;                  ///< number of blocks written
  bool ended_ = false;                 ///< whether a row before the next block is missing
  std::map<Count, RowBlock> waiting_;  ///< blocks that must wait until earlier ones are written
  SweepRun run_;
  Elapsed elapsed_;
};

void OrderedRows::work() {
  PointAnswers answers(points_, columns_, runner_);
  try {
    while (!over()) {
      const Count index = next_++;
      if (first_ + index * block_ >= all_) return;
      put(index, computed(answers, index));
    }
  } catch (...) {
    failed_ = true;
    throw;
  }
}

RowBlock OrderedRows::computed(PointAnswers& answers, Count index) const {
  RowBlock block;
  const Count begin = first_ + index * block_, end = std::min(all_, begin + block_);
  for (Count point = begin; point < end; ++point) {
    std::optional<RowCells> row = over() ? std::nullopt : answers.row(point);
    block.stopped = !row;
    if (block.stopped) break;
    block.errors += row->back().is_null() ? 0 : 1;
    block.rows.push_back(*std::move(row));
  }
  block.size = static_cast<Count>(block.rows.size());
  return block;
}

/// Writes the block when all earlier ones are written. Waits if it is too far ahead of them.
void OrderedRows::put(Count index, RowBlock block) {
  table_.encode(block);
  std::unique_lock lock(mutex_);
  while (!moved_.wait_for(lock, std::chrono::milliseconds(100), [&] { return over() || index < written_ + ahead_; })) {
  }
  waiting_.emplace(index, std::move(block));
  while (!waiting_.empty() && waiting_.begin()->first == written_) {
    write(std::move(waiting_.begin()->second));
    waiting_.erase(waiting_.begin());
    ++written_;
  }
  moved_.notify_all();
}

void OrderedRows::write(RowBlock block) {
  if (std::exchange(ended_, true)) return;  // stays true if append() throws
  table_.append(block);
  ended_ = block.stopped;
  run_.rows += block.size;
  run_.errors += block.errors;
  const double done = static_cast<double>(run_.rows) / static_cast<double>(all_ - first_);
  const double share = static_cast<double>(first_ + run_.rows) / static_cast<double>(all_);
  if (!table_.is_on_terminal())
    runner_.show(fmt::format("{:.0f} % of {} points{}", 100 * share, all_, left_text(elapsed_.seconds(), done)));
}

}  // namespace

SweepRun write_rows(const SweepPoints& points, const std::vector<Column>& columns, Count first, Table& table,
                    Runner& runner) {
  OrderedRows rows(points, columns, first, table, runner);
  runner.each(runner.width(), [&](std::size_t) { rows.work(); });
  return rows.run();
}

}  // namespace llmcalc
