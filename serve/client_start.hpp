#pragma once
/// Start of the users of a closed loop.

#include <array>
#include <cstdint>

#include "calc/choice.hpp"

namespace llmcalc {

enum class ClientStart : std::uint8_t {
  together,  ///< all at once, as in benchmarks
  spread     ///< at different times, so that their requests end at different times: the steady state of many users
};
template <>
inline constexpr auto choices<ClientStart> =
    std::array{Choice{ClientStart::together, "together"}, Choice{ClientStart::spread, "spread"}};

}  // namespace llmcalc
