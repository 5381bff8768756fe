#pragma once
/// Dates with a time of day: "2023-11-16 18:17:03.9799600", "2024-05-10T00:00:00Z", "2024-05-10 00:00:00.009930+02:00".

#include <cstdint>
#include <optional>
#include <string_view>

namespace llmcalc {

/// Nanoseconds from 1970-01-01 00:00 UTC to a date and time. Digits beyond nanoseconds are dropped. A time without an
/// offset is UTC. nullopt for other text, for days that do not exist, and for years before 1970 or after 2261.
std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace llmcalc
