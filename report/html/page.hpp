#pragma once
/// A report as one HTML file that needs neither scripts nor a network: verdict, charts with their tables, every
/// section, the explanation of each number, notes and the command.

#include <string>
#include <vector>

#include "report/html/explained.hpp"
#include "report/plot/chart.hpp"
#include "report/report.hpp"

namespace llmcalc {

struct HtmlPage {
  const Report& report;
  std::vector<plot::Chart> charts{};
  Explanations explanations{};
  std::string command{};  ///< the command line that prints the same answer
};

std::string page_text(const HtmlPage& page);

/// First line of every page, by which the program recognizes its own files.
inline constexpr std::string_view html_begin = "<!DOCTYPE html><!-- llmcalc -->\n";

}  // namespace llmcalc
