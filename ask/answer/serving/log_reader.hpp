#pragma once
/// Converts the fields of logged requests from text to requests.

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ask/answer/serving/request_log.hpp"

namespace llmcalc {

/// Fields of a request in a log (request_log.hpp).
enum class LogField : std::uint8_t { arrival, prompt, generated, session, prefix, priority };
inline constexpr std::array<std::string_view, 6> log_fields{"arrival", "prompt", "generated",
                                                            "session", "prefix", "priority"};

/// The text of a request's fields; empty if absent.
struct LoggedLine {
  const std::string& file;  ///< name of the log
  std::size_t number;       ///< line number, from 1
  std::array<std::string_view, log_fields.size()> fields{};

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
  explicit LogReader(RequestLog& log) : log_(log) {}
  /// Appends a request to the log.
  void add(const LoggedLine& line);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using Names = std::unordered_map<std::string, ChainId, Hash, std::equal_to<>>;
  static ChainId number_of_name(Names& names, std::string_view name);
  double arrival(const LoggedLine& line);
  void read_prefix(ServerRequest& r, std::string_view text, const LoggedLine& line);

  RequestLog& log_;
  Names sessions_, prefixes_;
  double first_ = 0, last_ = 0;
};

}  // namespace llmcalc
