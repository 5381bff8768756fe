#pragma once
/// Lines of bounded length from a file descriptor.

#include <optional>
#include <string>

namespace llmcalc::mcp {

class LineReader {
 public:
  LineReader(int file, std::size_t most) : file_(file), most_(most) {}

  struct Line {
    std::string text;       ///< without the line end; empty if too long
    bool too_long = false;  ///< whether the line had more than `most` bytes, which were skipped
  };
  /// The next line; the last one may lack its end. Absent at the end of the file, or if it cannot be read.
  std::optional<Line> next();

 private:
  bool fill();

  int file_;
  std::size_t most_;
  std::string rest_;  ///< bytes that were read after the last line
  bool over_ = false;
};

}  // namespace llmcalc::mcp
