#pragma once
/// A report saved earlier, against the same question asked today.

#include <string>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

struct Moved {
  std::string path, before, now;
  std::string by;  ///< "+1.2 %", or "gone"
};

/// Asks again what the saved report answered and lists every number, verdict and name that is not the same. What
/// today's report has besides is not a move. Throws InputError if the file is no report of a command that answers about
/// a model.
std::vector<Moved> moved_since(const json::Value& saved, const std::string& where, std::size_t& compared);

}  // namespace llmcalc
