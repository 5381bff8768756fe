#pragma once
/// The device of a machine that a cloud lends by a name of its own: "p4d.24xlarge", "a3-highgpu-8g", "ND H100 v5".

#include <string_view>

namespace llmcalc {

/// The name of the device's preset; empty: the text names no machine that is known. Names are found whole: "P100" is
/// no p1, and "A40" no a4. Source: the clouds' own lists of instance types.
std::string_view device_of_instance(std::string_view text);

}  // namespace llmcalc
