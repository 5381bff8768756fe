#include "cli/json_file.hpp"

#include <array>
#include <chrono>
#include <ctime>
#include <span>

#include "text/whole_file.hpp"

namespace llmcalc {

void write_json(const std::string& path, const json::Value& value) {
  const std::string text = value.dump(2, ' ', false, json::Value::error_handler_t::replace) + "\n";
  WholeFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

}  // namespace llmcalc
