#include "cli/mcp/line_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace llmcalc::mcp {

/// Reads more bytes. Returns false at the end of the file.
bool LineReader::fill() {
  std::array<char, 65536> bytes;
  ssize_t n = 0;
  do n = ::read(file_, bytes.data(), bytes.size());
  while (n < 0 && errno == EINTR);
  over_ = n <= 0;
  if (!over_) rest_.append(bytes.data(), static_cast<std::size_t>(n));
  return !over_;
}

std::optional<LineReader::Line> LineReader::next() {
  Line line;
  std::size_t passed = 0;  // bytes without a line end
  std::size_t end = rest_.find('\n');
  while (end == std::string::npos && !over_) {
    passed = rest_.size();
    if (passed > most_) line.too_long = true;
    if (line.too_long) rest_.clear(), passed = 0;
    if (fill()) end = rest_.find('\n', passed);
  }
  if (end == std::string::npos && rest_.empty() && !line.too_long) return std::nullopt;
  line.too_long = line.too_long || std::min(end, rest_.size()) > most_;
  if (!line.too_long) line.text = rest_.substr(0, end);
  rest_.erase(0, end == std::string::npos ? end : end + 1);
  return line;
}

}  // namespace llmcalc::mcp
