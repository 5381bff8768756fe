#pragma once
/// An operator's shape in a few characters, for tables: "8192x4096x14336", "32/8h 2048/2048 w1024", "RS, AG back".

#include <string>

#include "calc/operator/op.hpp"

namespace llmcalc {

std::string shape_text(const Shape& shape);

}  // namespace llmcalc
