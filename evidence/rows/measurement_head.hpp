#pragma once
/// Identity of a measurement: what sentences and summaries call it by.

#include <string>

#include "calc/units.hpp"

namespace llmcalc {

struct RowSource {
  std::string title, url, table, how, confidence;
};

struct MeasurementHead {
  std::string id{};
  std::string where{};    ///< file, line and row, for sentences
  std::string family{};   ///< the source's runs; "not stated" where the row does not state it
  std::string quality{};  ///< "A", "B", "C"; empty: not stated
  std::string model{};    ///< name; empty: not stated
  RowSource source{};
  Count gpus = 1;  ///< devices as the row counts them
};

}  // namespace llmcalc
