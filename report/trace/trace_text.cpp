#include "report/trace/trace_text.hpp"

#include <fmt/format.h>

namespace llmcalc {
namespace {

std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

}  // namespace

void TraceText::metadata(std::string_view what, const TracePlace& at, std::string_view key, const std::string& value) {
  line(fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"{}":{}}}}})", what, at.process, at.thread, key,
                   value));
}

void TraceText::event(std::string_view name, std::string_view category, const TracePlace& at, std::int64_t start,
                      std::int64_t duration, std::string_view arguments) {
  const std::string args = arguments.empty() ? "" : fmt::format(R"(,"args":{})", arguments);
  line(fmt::format(R"({{"name":"{}","cat":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{}{}}})", name, category,
                   at.process, at.thread, microseconds(start), microseconds(duration), args));
}

void TraceText::counter(std::string_view name, Count process, std::int64_t at, std::string_view values) {
  line(fmt::format(R"({{"name":"{}","ph":"C","pid":{},"ts":{},"args":{}}})", name, process, microseconds(at), values));
}

void TraceText::line(const std::string& event) {
  text_ += first_ ? "\n" : ",\n";
  text_ += event;
  first_ = false;
}

}  // namespace llmcalc
