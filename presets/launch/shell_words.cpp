#include "presets/launch/shell_words.hpp"

namespace llmcalc {
namespace {

/// Reads a script character by character.
class ShellReader {
 public:
  explicit ShellReader(std::string_view script) : rest_(script) {}

  std::vector<ShellCommand> read() {
    while (!rest_.empty()) read_one();
    end_command();
    return std::move(commands_);
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void end_word() {
    if (in_word_) words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }
  void end_command() {
    end_word();
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }
  void add(char c) {
    word_ += c;
    in_word_ = true;
  }
  void skip_comment() {
    while (!rest_.empty() && rest_.front() != '\n') take();
  }
  void read_escaped() {
    if (rest_.empty()) return;
    const char c = take();
    if (c == '\r' && !rest_.empty() && rest_.front() == '\n') take();
    if (c != '\n' && c != '\r') add(c);
  }
  void read_quoted(char quote) {
    in_word_ = true;
    while (!rest_.empty()) {
      const char c = take();
      if (c == quote) return;
      const bool escapes = c == '\\' && quote == '"' && !rest_.empty() &&
                           std::string_view("\"\\$`\n").find(rest_.front()) != std::string_view::npos;
      escapes ? read_escaped() : add(c);
    }
  }
  void read_one() {
    const char c = take();
    if (c == '\\') return read_escaped();
    if (c == '\'' || c == '"') return read_quoted(c);
    if (c == '#' && !in_word_) return skip_comment();
    if (c == '\n' || c == ';' || c == '&' || c == '|') return end_command();
    if (c == ' ' || c == '\t' || c == '\r') return end_word();
    add(c);
  }

  std::string_view rest_;
  std::string word_;
  bool in_word_ = false;
  ShellCommand words_;
  std::vector<ShellCommand> commands_;
};

}  // namespace

std::vector<ShellCommand> shell_commands(std::string_view script) { return ShellReader(script).read(); }

}  // namespace llmcalc
