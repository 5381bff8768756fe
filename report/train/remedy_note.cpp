#include "report/train/remedy_note.hpp"

#include <fmt/format.h>

#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::string remedy_text(const Request& r, const Remedied& m) {
  const std::string gpus = devices(m.layout) == devices(r.layout) ? "" : " on " + counted(devices(m.layout), "GPU");
  return fmt::format("{} ({}{}, {} per step)", remedy_option(r, m), bytes_text(m.peak), gpus, seconds_text(m.step));
}

}  // namespace

void note_remedies(const TrainingAnswer& a, Report& report) {
  if (a.fits() && a.process_fits()) return;
  const char* what = a.fits() ? "its process" : "it";
  std::string text;
  for (const TypedRemedy& t : a.remedies()) text += (text.empty() ? "" : "; ") + remedy_text(a.request(), t.change);
  report.notes.push_back(text.empty()
                             ? fmt::format("no single change makes {} fit; 'llmcalc plan train' searches for a plan "
                                           "that fits",
                                           what)
                             : fmt::format("to make {} fit: {}", what, text));
}

}  // namespace llmcalc
