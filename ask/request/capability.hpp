#pragma once
/// Capabilities of a software stack that a request requires.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/request/request.hpp"

namespace llmcalc {

struct Demand {
  Capability capability = Capability::devices;
  std::string word;
};
/// Demands of the training half, or of the inference half. In a search, only options set by the user count.
std::vector<Demand> training_demands(const Request& r);
std::vector<Demand> inference_demands(const Request& r);

/// The first demand that the software does not meet; absent if it meets all.
std::optional<Demand> unmet(const SoftwareCard& software, const std::vector<Demand>& demands);
/// Error text: "megatron-lm has no zb-v (it has 1f1b and interleaved)".
std::string unmet_text(const SoftwareCard& software, const Demand& d);

/// The first stack that meets the demands: `usual`, otherwise the first capable stack in a fixed list. Empty if there
/// is none.
std::string_view capable_trainer(const Request& r, std::string_view usual);
std::string_view capable_engine(const Request& r, std::string_view usual);

}  // namespace llmcalc
