#include "cli/kernels/found.hpp"

#include <algorithm>

namespace llmcalc {

using validate::CaseVerdict;

bool Validated::exact() const {
  return std::all_of(verdicts.begin(), verdicts.end(), [](const CaseVerdict& v) { return v.differing() == 0; });
}

std::vector<std::string> Validated::names() const {
  std::vector<std::string> all;
  for (const CaseVerdict& v : verdicts) all.push_back(v.name);
  return all;
}

int exit_code(const Validated& f, bool check_time) { return f.exact() && (!check_time || in_time(f.times)) ? 0 : 1; }

void conclude(Report& report, const Validated& f, bool check_time) {
  std::string text = conclusion(f.verdicts) + time_conclusion(f.times);
  if (f.exact() && check_time && !in_time(f.times)) text += "; outside the band, " + worst_time(f.names(), f.times);
  report.verdict = {{"", text, exit_code(f, check_time) != 0}};
}

}  // namespace llmcalc
