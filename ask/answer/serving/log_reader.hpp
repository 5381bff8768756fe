#pragma once
/// Converts the fields of logged requests from text to requests.

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ask/answer/serving/hash_trie.hpp"
#include "ask/answer/serving/log_format.hpp"
#include "ask/answer/serving/request_log.hpp"

namespace llmcalc {

/// The text of a request's fields; empty if absent.
struct LoggedLine {
  const LogFormat& format;
  const std::string& file;  ///< name of the log
  std::size_t number;       ///< line number, from 1
  std::array<std::string_view, log_field_count> fields{};

  std::string_view field(LogField f) const { return fields[static_cast<std::size_t>(f)]; }
  /// The text of a field that must not be empty.
  std::string_view needed(LogField f) const;
  /// The location of the line: "log.csv, line 12".
  std::string where() const;
  /// The location of a field: "log.csv, line 12, "prompt"".
  std::string where(LogField f) const;
};

class LogReader {
 public:
  LogReader(RequestLog& log, const LogFormat& format) : log_(log), format_(format) {}
  /// Appends a request to the log. Omits and counts failed requests of a published trace.
  void add(const LoggedLine& line);
  /// Completes the log: sets shared prefixes, and sorts a published trace by arrival.
  void finish(const std::string& file);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using Names = std::unordered_map<std::string, ChainId, Hash, std::equal_to<>>;
  static ChainId number_of_name(Names& names, std::string_view name);
  bool failed(const LoggedLine& line) const;
  double arrival(const LoggedLine& line);
  double time_of_date(const LoggedLine& line);
  void read_prefix(ServerRequest& r, std::string_view text, const LoggedLine& line);
  void read_hash_ids(Count prompt, const LoggedLine& line);
  void sort();

  RequestLog& log_;
  const LogFormat& format_;
  Names sessions_, prefixes_;
  HashTrie hashes_;
  std::vector<std::uint64_t> ids_;  ///< hash ids of the last request
  double first_ = 0, last_ = 0;
  std::int64_t first_date_ = 0;
};

}  // namespace llmcalc
