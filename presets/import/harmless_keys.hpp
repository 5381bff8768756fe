#pragma once
/// Keys of a config.json that affect no size, count or time of any family, so importers need not read them.

#include <string_view>

#include "text/json.hpp"

namespace llmcalc::import {

/// Reason why no size depends on a key with this value; empty if some size may. Objects have a reason only if their
/// content is known.
std::string_view harmless_reason(std::string_view key, const json::Value& value);

}  // namespace llmcalc::import
