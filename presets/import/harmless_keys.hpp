#pragma once
/// Keys of a config.json that do not affect any size, count or time in any family, so importers need not read them.

#include <string_view>

#include "text/json.hpp"

namespace llmcalc::import {

/// Reason that a key with this value affects no size; empty if it may affect one. Objects have a reason only if their
/// content is known.
std::string_view harmless_reason(std::string_view key, const json::Value& value);

}  // namespace llmcalc::import
