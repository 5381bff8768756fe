#pragma once
/// Terms and acronyms of the field, in the sense in which this program uses them.

#include <span>
#include <string_view>

namespace llmcalc {

struct Term {
  std::string_view group;  ///< heading of the group: "Training"
  std::string_view words;  ///< the term and its variants: "MFU, HFU"
  std::string_view meaning;
};

/// All terms, by group.
std::span<const Term> glossary();

}  // namespace llmcalc
