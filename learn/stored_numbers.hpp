#pragma once
/// Number formats in files.

#include <cstddef>
#include <span>
#include <string_view>

#include "calc/formats/dtype.hpp"

namespace llmcalc::model {

/// Whether `dtype` is F64, F32, BF16 or F16.
bool is_stored_number(std::string_view dtype);

/// The file dtype that corresponds to a backend's compute format: F16, BF16, F32 or F64.
std::string_view own_dtype(DType format);

/// Converts values of a stored dtype (little-endian) to double exactly; `to` must have as many elements as `from`.
void widen(std::string_view dtype, std::span<const std::byte> from, std::span<double> to);

}  // namespace llmcalc::model
