#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/output.hpp"
#include "cli/sweep/row_text.hpp"
#include "cli/sweep/sqlite_table.hpp"
#include "cli/sweep/table.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

/// A table of text rows. Derived classes write the text.
class TextTable : public Table {
 public:
  TextTable(TextFormat format, std::vector<std::string> header) : format_(format), header_(std::move(header)) {}
  std::string record(const RowCells& row) const override { return row_text(format_, header_, row); }
  void encode(RowBlock& block) const override {
    for (const RowCells& row : block.rows) block.text += record(row);
    block.rows.clear();
  }

 protected:
  std::string first_line() const { return header_text(format_, header_); }
  TextFormat format() const { return format_; }
  const std::vector<std::string>& header() const { return header_; }

 private:
  TextFormat format_;
  std::vector<std::string> header_;
};

class OutputTable : public TextTable {
 public:
  using TextTable::TextTable;
  void start() override { write_out(first_line()); }
  void append(const RowBlock& block) override { write_out(block.text); }
  bool is_on_terminal() const override { return ::isatty(STDOUT_FILENO) == 1; }
};

/// A pipe or a device, which cannot be resumed.
class PipeTable : public TextTable {
 public:
  PipeTable(const std::string& path, TextFormat format, std::vector<std::string> header)
      : TextTable(format, std::move(header)), file_(path) {}
  void start() override { write(first_line()); }
  void append(const RowBlock& block) override { write(block.text); }
  void finish() override { file_.finish(); }

 private:
  void write(const std::string& text) { file_.write(std::as_bytes(std::span(text))); }
  WholeFile file_;
};

/// A text file. Every record ends with a line end, so that a truncated record is recognized.
class TextFile : public TextTable {
 public:
  TextFile(std::string path, TextFormat format, std::vector<std::string> header, Opening opening)
      : TextTable(format, std::move(header)), path_(std::move(path)), resumes_(opening == Opening::resume) {
    open();
    read();
    if (opening != Opening::force) check_header();
  }
  ~TextFile() override { ::close(file_); }

  WrittenRows written() override;
  void start() override;
  void append(const RowBlock& block) override { write(block.text); }
  void finish() override {
    if (::fsync(file_) != 0 && errno != EINVAL) fail("cannot write");
  }

 private:
  void open();
  void read();
  void check_header() const;
  bool has_same_header() const;
  void write(const std::string& text) const;
  [[noreturn]] void fail(const char* what) const {
    throw InputError(fmt::format("{} '{}': {}", what, path_, std::strerror(errno)));
  }

  std::string path_, begin_{};  ///< `begin_`: first part of the existing file
  bool resumes_;
  int file_ = -1;
  RecordReader found_{format()};
};

void TextFile::open() {
  constexpr mode_t all_may_read = 0644;
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, all_may_read);
  if (file_ < 0) fail("cannot write");
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw InputError(
        fmt::format("another program is writing '{}'; wait for it to finish, or pass another --out", path_));
}

/// Reads the whole file to resume it, or only its beginning to recognize it.
void TextFile::read() {
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::string buffer(piece, '\0');
  while (true) {
    const ssize_t n = ::read(file_, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot read");
    if (begin_.empty()) begin_ = buffer.substr(0, static_cast<std::size_t>(n));
    found_.read(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)));
    if (n == 0 || !resumes_) return;
  }
}

/// Whether the file is empty, has this header, or was truncated within it.
bool TextFile::has_same_header() const {
  if (begin_.empty()) return true;
  if (format() == TextFormat::csv)
    return found_.first() ? *found_.first() == first_line() : first_line().starts_with(begin_);
  const std::string first_key = "{\"" + header()[0] + "\":";
  if (!found_.first()) return begin_.starts_with(first_key) || first_key.starts_with(begin_);
  std::vector<std::string> names;
  const json::Value row = json::Value::parse(*found_.first(), nullptr, false);
  if (!row.is_object()) return false;
  for (const auto& [key, value] : row.items()) names.push_back(key);
  return names == header();
}

void TextFile::check_header() const {
  if (has_same_header()) return;
  if (resumes_)
    throw InputError(
        fmt::format("'{}' was not written by this command: it has other columns; pass another --out", path_));
  throw InputError(fmt::format(
      "'{}' exists and is not a sweep with these columns; pass another --out, or --force to replace it", path_));
}

WrittenRows TextFile::written() { return {.rows = found_.rows(), .sample = found_.sample()}; }

void TextFile::start() {
  const Count keep = resumes_ && found_.first() ? found_.whole_bytes() : 0;
  if (::ftruncate(file_, keep) != 0 || ::lseek(file_, 0, SEEK_END) < 0) fail("cannot write");
  if (keep == 0) write(first_line());
}

void TextFile::write(const std::string& text) const {
  errno = write_all(file_, std::as_bytes(std::span(text)));
  if (errno != 0) fail("cannot write");
}

bool is_sqlite(std::string_view path) { return path.ends_with(".sqlite") || path.ends_with(".db"); }

}  // namespace

void check_table_name(const std::string& path) {
  const std::string name = lower(path);
  if (name.ends_with(".csv") || name.ends_with(".jsonl") || is_sqlite(name)) return;
  throw InputError(
      fmt::format("--out: expected a name that ends with .csv, .jsonl, .sqlite or .db, got {}", in_quotes(path)));
}

std::unique_ptr<Table> output_table(TextFormat format, std::vector<std::string> header) {
  return std::make_unique<OutputTable>(format, std::move(header));
}

std::unique_ptr<Table> file_table(const std::string& path, std::vector<std::string> header, Opening opening) {
  const std::string name = lower(path);
  const bool in_place = !is_replaced_by_write(path);
  if (in_place && (is_sqlite(name) || opening == Opening::resume))
    throw InputError(fmt::format("'{}' is not a regular file; pass another --out", path));
  if (is_sqlite(name)) return sqlite_table(path, std::move(header), opening);
  const TextFormat format = name.ends_with(".csv") ? TextFormat::csv : TextFormat::jsonl;
  if (in_place) return std::make_unique<PipeTable>(path, format, std::move(header));
  return std::make_unique<TextFile>(path, format, std::move(header), opening);
}

}  // namespace llmcalc
