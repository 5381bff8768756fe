#pragma once
/// A trace in Chrome's format, for ui.perfetto.dev and chrome://tracing: events, one per line.

#include <cstdint>
#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

/// The beginning of every trace; `otherData` marks the file as written by llmcalc.
inline constexpr std::string_view trace_begin = R"({"otherData":{"generator":"llmcalc"},"traceEvents":[)";

/// The row of an event: a process and one of its threads.
struct TracePlace {
  Count process = 0, thread = 0;
};

class TraceText {
 public:
  /// Metadata of a row, as "process_name" or "thread_sort_index"; `value` is JSON.
  void metadata(std::string_view what, const TracePlace& at, std::string_view key, const std::string& value);
  /// Work at a place from `start` on, in whole nanoseconds, so that rounding does not make consecutive events overlap.
  /// `arguments` is a JSON object, or empty.
  void event(std::string_view name, std::string_view category, const TracePlace& at, std::int64_t start,
             std::int64_t duration, std::string_view arguments);
  /// Counter values at a time, drawn as curves; `values` is a JSON object.
  void counter(std::string_view name, Count process, std::int64_t at, std::string_view values);
  std::string whole() && { return std::move(text_) + "\n],\n\"displayTimeUnit\":\"ms\"}\n"; }

 private:
  void line(const std::string& event);
  std::string text_{trace_begin};
  bool first_ = true;
};

}  // namespace llmcalc
