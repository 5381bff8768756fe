#pragma once
/// Server options that lower or raise parts of a server's memory, worded for a verdict.

#include <string_view>

#include "evidence/logs/server_start.hpp"

namespace llmcalc {

struct ServerRemedies {
  std::string_view less;     ///< options that reduce the memory in use
  std::string_view loading;  ///< options that reduce the weights on a device
  std::string_view request;  ///< options that make the longest request fit
  std::string_view cache;    ///< options that enlarge the cache
};
const ServerRemedies& remedies_of(LoggedServer s);

}  // namespace llmcalc
