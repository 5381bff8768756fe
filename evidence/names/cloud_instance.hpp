#pragma once
/// Device of a cloud instance type: "p4d.24xlarge", "a3-highgpu-8g", "ND H100 v5".

#include <string_view>

namespace llmcalc {

/// Name of the device's preset; empty if the text has no known instance type. Names match only as whole words: "P100"
/// is not p1, and "A40" is not a4. Source: the providers' lists of instance types.
std::string_view device_of_instance(std::string_view text);

}  // namespace llmcalc
