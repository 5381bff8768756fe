#pragma once
/// Keys of a config.json that no family's sizes, counts or times depend on, so that an importer need not ask for them.

#include <string_view>

#include "text/json.hpp"

namespace llmcalc::import {

/// Why no size depends on a key with that value; empty where one may. Of objects only those whose content is known
/// have a reason.
std::string_view harmless_reason(std::string_view key, const json::Value& value);

}  // namespace llmcalc::import
