#include "evidence/names/engine_name.hpp"

#include "text/leading_number.hpp"

namespace llmcalc {

std::optional<Count> minor_version(const std::string& version) {
  if (version.empty() || version.find('-') != std::string::npos) return std::nullopt;
  return version.starts_with("0.") ? std::atoi(version.c_str() + 2) : 1000;
}

}  // namespace llmcalc
