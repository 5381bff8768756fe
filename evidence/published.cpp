#include "evidence/published.hpp"

namespace llmcalc {

std::string joined(std::span<const std::string_view> lines) {
  std::size_t bytes = 0;
  for (const std::string_view line : lines) bytes += line.size();
  std::string text;
  text.reserve(bytes);
  for (const std::string_view line : lines) text += line;
  return text;
}

}  // namespace llmcalc
