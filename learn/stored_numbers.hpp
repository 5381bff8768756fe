#pragma once
/// Numbers as files store them.

#include <cstddef>
#include <span>
#include <string_view>

#include "calc/formats/dtype.hpp"

namespace llmcalc::model {

/// Whether `dtype` is one of F64, F32, BF16 and F16.
bool is_stored_number(std::string_view dtype);

/// The name in files of a format that a backend computes in: F16, BF16, F32 or F64.
std::string_view own_dtype(DType format);

/// The numbers of such a dtype (little-endian), each exactly; `to` has as many as `from` holds.
void widen(std::string_view dtype, std::span<const std::byte> from, std::span<double> to);

}  // namespace llmcalc::model
