#include "text/leading_number.hpp"

#include <cstdlib>

namespace llmcalc {

Count leading_whole(const std::string& text, int base) { return std::strtoll(text.c_str(), nullptr, base); }

double leading_real(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

}  // namespace llmcalc
