#pragma once
/// Formats of request logs: llmcalc's, and published traces, recognized by their names of fields (request_log.hpp).

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

enum class LogField : std::uint8_t { arrival, prompt, generated, session, prefix, priority, hash_ids };
inline constexpr std::size_t log_field_count = 7;
inline constexpr std::size_t no_log_field = log_field_count;
/// Fields that every request has.
inline constexpr std::array needed_log_fields{LogField::arrival, LogField::prompt, LogField::generated};

struct LogFormat {
  enum class Time : std::uint8_t { seconds, milliseconds, dates };

  std::array<std::string_view, log_field_count> names;  ///< keys or columns by field; empty: not in this format
  Time time = Time::seconds;
  bool published = true;  ///< a trace that others recorded: may be out of order, and contain requests that failed

  std::string_view name(LogField f) const { return names[static_cast<std::size_t>(f)]; }
  /// Index of the field with this name, or no_log_field.
  std::size_t field(std::string_view name) const;
};

/// The format of a log with these keys or columns; llmcalc's if it is unknown.
const LogFormat& log_format(const std::vector<std::string>& names);

}  // namespace llmcalc
