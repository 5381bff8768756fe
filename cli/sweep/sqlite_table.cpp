#include "cli/sweep/sqlite_table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "cli/sweep/row_text.hpp"
#include "cli/sweep/sqlite.hpp"
#include "text/elapsed.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

std::string quoted_name(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

/// A cell as SQLite stores it: null, a signed 64-bit integer, a double or text.
json::Value held(const json::Value& cell) {
  if (cell.is_boolean()) return cell.get<bool>() ? 1 : 0;
  const bool wide = cell.is_number_unsigned() &&
                    cell.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (wide || cell.is_binary() || cell.is_structured()) return cell_text(cell);
  return cell;
}

/// A prepared statement.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& sql) {
    code_ = sqlite().prepare_v2(db, sql.c_str(), -1, &statement_, nullptr);
  }
  ~Statement() { sqlite().finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  int prepared() const { return code_; }
  int step() { return sqlite().step(statement_); }
  void reset() { sqlite().reset(statement_); }
  void bind(int place, const json::Value& v);
  json::Value column(int index) const;
  /// The column's value if it has this type; otherwise empty text or 0.
  std::string text(int index) const;
  Count count(int index) const;

 private:
  sqlite3_stmt* statement_ = nullptr;
  int code_ = 0;
};

void Statement::bind(int place, const json::Value& v) {
  if (v.is_null()) {
    sqlite().bind_null(statement_, place);
  } else if (v.is_string()) {
    const std::string& text = v.get_ref<const std::string&>();
    sqlite().bind_text(statement_, place, text.data(), static_cast<int>(text.size()), nullptr);
  } else if (v.is_number_float()) {
    sqlite().bind_double(statement_, place, v.get<double>());
  } else {
    sqlite().bind_int64(statement_, place, v.get<std::int64_t>());
  }
}

std::string Statement::text(int index) const {
  const json::Value v = column(index);
  return v.is_string() ? v.get<std::string>() : "";
}

Count Statement::count(int index) const {
  const json::Value v = column(index);
  return v.is_number_integer() ? v.get<Count>() : 0;
}

json::Value Statement::column(int index) const {
  switch (sqlite().column_type(statement_, index)) {
    case sqlite_code::integer:
      return sqlite().column_int64(statement_, index);
    case sqlite_code::real:
      return sqlite().column_double(statement_, index);
    case sqlite_code::text:
      return reinterpret_cast<const char*>(sqlite().column_text(statement_, index));
    default:
      return {};
  }
}

class SqliteTable : public Table {
 public:
  SqliteTable(std::string path, std::vector<std::string> header, Opening opening);
  ~SqliteTable() override {
    insert_.reset();
    if (db_ != nullptr) sqlite().close_v2(db_);
  }

  WrittenRows written() override;
  void start() override;
  std::string record(const RowCells& row) const override;
  void encode(RowBlock& block) const override {
    for (RowCells& row : block.rows)
      for (json::Value& cell : row) cell = held(cell);
  }
  void append(const RowBlock& block) override;
  void finish() override { run("COMMIT"); }

 private:
  void open();
  std::vector<std::string> found_columns();
  void check_columns();
  void run(const std::string& sql);
  void commit_each_second();
  [[noreturn]] void fail(int code) const;
  std::string sql_columns(const std::string& separator) const;

  std::string path_;
  std::vector<std::string> header_;
  Opening opening_;
  bool has_table_ = false;
  sqlite3* db_ = nullptr;
  std::unique_ptr<Statement> insert_;
  Elapsed elapsed_;
  double committed_ = 0;  ///< time of the last commit in seconds, by `elapsed_`
};

SqliteTable::SqliteTable(std::string path, std::vector<std::string> header, Opening opening)
    : path_(std::move(path)), header_(std::move(header)), opening_(opening) {
  sqlite();  // throws if SQLite is missing, before any file is changed
  if (opening == Opening::force) {
    ::unlink(path_.c_str());
    for (const char* ending : {"-journal", "-wal", "-shm"}) ::unlink((path_ + ending).c_str());
  }
  open();
  check_columns();
}

void SqliteTable::open() {
  const int code =
      sqlite().open_v2(path_.c_str(), &db_, sqlite_code::open_read_write | sqlite_code::open_create, nullptr);
  if (code != sqlite_code::ok) fail(code);
}

void SqliteTable::fail(int code) const {
  if (code == sqlite_code::not_a_database)
    throw InputError(
        fmt::format("'{}' exists and is not a SQLite file; pass another --out, or --force to replace it", path_));
  if (code == sqlite_code::busy)
    throw InputError(
        fmt::format("another program is writing '{}'; wait for it to finish, or pass another --out", path_));
  throw InputError(fmt::format("cannot write '{}': {}", path_, sqlite().errmsg(db_)));
}

void SqliteTable::run(const std::string& sql) {
  if (const int code = sqlite().exec(db_, sql.c_str(), nullptr, nullptr, nullptr); code != sqlite_code::ok) fail(code);
}

/// Column names of an existing table; every other table is listed as a column "table NAME".
std::vector<std::string> SqliteTable::found_columns() {
  Statement info(db_,
                 "SELECT name FROM pragma_table_info('sweep') UNION ALL "
                 "SELECT 'table ' || name FROM sqlite_master WHERE name <> 'sweep' AND type = 'table'");
  if (info.prepared() != sqlite_code::ok) fail(info.prepared());
  std::vector<std::string> all;
  int code = 0;
  while ((code = info.step()) == sqlite_code::row) all.push_back(info.text(0));
  if (code != sqlite_code::done) fail(code);
  return all;
}

void SqliteTable::check_columns() {
  const std::vector<std::string> found = found_columns();
  has_table_ = found == header_;
  if (found.empty() || has_table_) return;
  if (opening_ == Opening::resume)
    throw InputError(
        fmt::format("'{}' was not written by this command: it has other columns; pass another --out", path_));
  throw InputError(fmt::format(
      "'{}' exists and is not a sweep with these columns; pass another --out, or --force to replace it", path_));
}

WrittenRows SqliteTable::written() {
  constexpr Count most = 16;
  WrittenRows all;
  if (!has_table_) return all;
  Statement count(db_, "SELECT count(*) FROM sweep");
  if (count.step() == sqlite_code::row) all.rows = count.count(0);
  const Count distance = std::max<Count>(1, all.rows / most);
  Statement sample(
      db_, fmt::format("SELECT rowid - 1, * FROM sweep WHERE (rowid - 1) % {} = 0 OR rowid = {}", distance, all.rows));
  while (sample.step() == sqlite_code::row) {
    RowCells row;
    for (std::size_t i = 0; i < header_.size(); ++i) row.push_back(sample.column(static_cast<int>(i) + 1));
    all.sample.emplace_back(sample.count(0), record(row));
  }
  return all;
}

/// Columns without a declared type keep the type of each value.
std::string SqliteTable::sql_columns(const std::string& separator) const {
  std::string all;
  for (const std::string& name : header_) all += (all.empty() ? "" : separator) + quoted_name(name);
  return all;
}

void SqliteTable::start() {
  if (has_table_ && opening_ != Opening::resume) run("DROP TABLE sweep");
  run("BEGIN IMMEDIATE");
  run(fmt::format("CREATE TABLE IF NOT EXISTS sweep ({})", sql_columns(", ")));
  std::string places;
  for (std::size_t i = 0; i < header_.size(); ++i) places += i == 0 ? "?" : ", ?";
  insert_ = std::make_unique<Statement>(db_, fmt::format("INSERT INTO sweep VALUES ({})", places));
  if (insert_->prepared() != sqlite_code::ok) fail(insert_->prepared());
}

std::string SqliteTable::record(const RowCells& row) const {
  json::Value all = json::Value::array();
  for (const json::Value& cell : row) all.push_back(held(cell));
  return all.dump(-1, ' ', false, json::Value::error_handler_t::replace);
}

void SqliteTable::append(const RowBlock& block) {
  for (const RowCells& row : block.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) insert_->bind(static_cast<int>(i) + 1, row[i]);
    if (const int code = insert_->step(); code != sqlite_code::done) fail(code);
    insert_->reset();
  }
  commit_each_second();
}

void SqliteTable::commit_each_second() {
  if (elapsed_.seconds() < committed_ + 1) return;
  run("COMMIT");
  run("BEGIN IMMEDIATE");
  committed_ = elapsed_.seconds();
}

}  // namespace

std::unique_ptr<Table> sqlite_table(const std::string& path, std::vector<std::string> header, Opening opening) {
  return std::make_unique<SqliteTable>(path, std::move(header), opening);
}

}  // namespace llmcalc
