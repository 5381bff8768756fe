#pragma once
/// Identity of a measurement for messages and summaries.

#include <string>

#include "calc/units.hpp"

namespace llmcalc {

struct RowSource {
  std::string title, url, table, how, confidence;
};

struct MeasurementHead {
  std::string id{};
  std::string where{};    ///< file, line and row, for messages
  std::string family{};   ///< common name of one source's runs; "not stated" if the row does not state it
  std::string quality{};  ///< quality tier: "A", "B", "C"; empty: not stated
  std::string date{};     ///< date of the run: "2026-03-28", "2026-03"; empty: not stated
  std::string model{};    ///< name of the model; empty: not stated
  RowSource source{};
  Count gpus = 1;  ///< device count in the row
};

}  // namespace llmcalc
