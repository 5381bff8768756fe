#pragma once
/// Options of servers that lower or raise parts of their memory, worded for a verdict.

#include <string_view>

#include "evidence/logs/server_start.hpp"

namespace llmcalc {

struct ServerRemedies {
  std::string_view less;     ///< less memory in use
  std::string_view loading;  ///< smaller weights on a device
  std::string_view request;  ///< room for the longest request
  std::string_view cache;    ///< more memory for the cache
};
const ServerRemedies& remedies_of(LoggedServer s);

}  // namespace llmcalc
