#include "report/train/remedy_note.hpp"

#include <fmt/format.h>

#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::string remedy_text(const TypedRemedy& m) {
  const std::string gpus = m.changes_gpus ? " on " + counted(m.gpus, "GPU") : "";
  return fmt::format("{} ({}{}, {} per step)", m.option, bytes_text(m.change.peak), gpus, seconds_text(m.change.step));
}

}  // namespace

void note_remedies(const TrainingAnswer& a, Report& report) {
  if (a.fits() && a.process_fits()) return;
  const char* what = a.fits() ? "its process" : "it";
  std::string text;
  for (const TypedRemedy& t : a.remedies()) text += (text.empty() ? "" : "; ") + remedy_text(t);
  report.notes.push_back(text.empty()
                             ? fmt::format("no single change makes {} fit; 'llmcalc plan train' searches for a plan "
                                           "that fits",
                                           what)
                             : fmt::format("to make {} fit: {}", what, text));
}

}  // namespace llmcalc
