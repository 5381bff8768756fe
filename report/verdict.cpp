#include "report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/interval.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::string said(const Report& r, std::string_view path) {
  const Row* row = r.row(path);
  return row == nullptr ? "" : human_text(row->value, row->unit);
}

std::string labelled(std::string_view about, std::string_view label) {
  return about.empty() ? std::string(label) : fmt::format("{} {}", about, label);
}

double bytes(const Row& row) { return static_cast<double>(std::get<Count>(row.value)); }

/// The largest part of a memory: "weights 32.86 GiB".
std::string largest_part(const Report& r, std::string_view memory) {
  const Section& s = *r.find(memory);
  const Row* most = nullptr;
  for (const Row& row : s.rows) {
    if (row.key == "total_bytes") break;
    if (!row.label.empty() && (most == nullptr || bytes(row) > bytes(*most))) most = &row;
  }
  return fmt::format("{} {}", most->label, human_text(most->value, most->unit));
}

/// "37.54 of 80.00 GiB"; both units where they differ.
std::string part_of(std::string part, const std::string& whole) {
  const std::size_t unit = whole.find(' ');
  if (part.ends_with(whole.substr(unit))) part.resize(part.size() - (whole.size() - unit));
  return fmt::format("{} of {}", part, whole);
}

/// A bound is no estimate, and its label says so.
std::string time_label(const Report& r, std::string_view estimate) {
  return r.row(estimate)->label.empty() ? "at best" : "time";
}

/// " (4.9 to 7.6 s)", of the seconds at a path without their unit.
std::string interval_of_row(const Report& r, const std::string& path) {
  const Row *low = r.row(path + "_low_s"), *high = r.row(path + "_high_s");
  if (low == nullptr) return "";
  return fmt::format(" ({})",
                     interval_text(std::get<double>(low->value), std::get<double>(high->value), Unit::seconds));
}

std::string trimmed_note(const Row& row) { return row.note.substr(row.note.find_first_not_of(' ')); }

/// "compute, 93.1 % of the step"
std::string bound_text(const Report& r) {
  return fmt::format("{}, {} of the step", said(r, "step.bound"), trimmed_note(*r.row("step.bound")));
}

/// The three parts on which an estimate of a section spends most: "matrix products 61.0 %, bubble 9.1 %, ...".
std::string spent_text(const Report& r, std::string_view section) {
  std::vector<const Row*> parts;
  for (const Row& row : r.find(section)->rows)
    if (row.key.starts_with("breakdown_s.") && !row.label.empty()) parts.push_back(&row);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Row* a, const Row* b) { return std::get<double>(a->value) > std::get<double>(b->value); });
  parts.resize(std::min<std::size_t>(parts.size(), 3));
  std::string text;
  for (const Row* p : parts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", p->label, trimmed_note(*p));
  return text;
}

/// What would help an estimate most: "a tenth more matmul peak -4.4 %, link -2.6 %".
std::string helps_text(const Report& r, std::string_view sensitivity) {
  constexpr double shown = 0.0005;  // "-0.0 %" is no help
  const Section* s = r.find(sensitivity);
  std::vector<const Row*> rows;
  for (const Row& row : s->rows)
    if (std::get<double>(row.value) < -shown) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row* a, const Row* b) { return std::get<double>(a->value) < std::get<double>(b->value); });
  rows.resize(std::min<std::size_t>(rows.size(), 3));
  std::string text;
  for (const Row* row : rows)
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "a tenth more " : ", ", row->label,
                        100 * std::get<double>(row->value));
  return text;
}

}  // namespace

/// "38.1 days, 58,000 GPU-hours, 110,000 USD"; where failures are counted, all three count them.
std::string run_text(const Report& r) {
  const bool failing = r.row("run.effective_days") != nullptr;
  const std::string cost = said(r, "run.cost_usd");
  std::string hours = said(r, failing ? "run.effective_gpu_hours" : "run.gpu_hours");
  hours.resize(hours.rfind(' '));
  return fmt::format("{}, {} GPU-hours{}{}{}", said(r, failing ? "run.effective_days" : "run.days"), hours,
                     cost.empty() ? "" : ", ", cost, failing ? ", failures counted" : "");
}

Finding fit_finding(const Report& r, std::string_view memory, std::string_view about) {
  const auto path = [&](const char* key) { return fmt::format("{}.{}", memory, key); };
  const std::string peak = said(r, path("peak_bytes"));
  const Row* fits = r.row(path("fits"));
  if (fits == nullptr) return {labelled(about, "needs"), fmt::format("{} per GPU, {}", peak, largest_part(r, memory))};
  const std::string of = part_of(peak, said(r, path("capacity_bytes")));
  const double share = bytes(*r.row(path("peak_bytes"))) / bytes(*r.row(path("capacity_bytes")));
  if (std::get<bool>(fits->value))
    return {labelled(about, "fits"), fmt::format("yes: {} per GPU ({:.0f} %)", of, 100 * share)};
  const Row *host = r.row(path("host_bytes")), *room = r.row(path("host_capacity_bytes"));
  if (share <= 1 && host != nullptr && room != nullptr && bytes(*host) > bytes(*room))
    return {labelled(about, "fits"),
            fmt::format("no: needs {} of the host per GPU",
                        part_of(said(r, path("host_bytes")), said(r, path("host_capacity_bytes")))),
            true};
  const std::string why = share > 1 ? largest_part(r, memory) : "more than --memory-utilization allows";
  return {labelled(about, "fits"), fmt::format("no: needs {} per GPU, {}", of, why), true};
}

void add_training_fit(Report& r, std::string_view about) {
  r.verdict.push_back(fit_finding(r, "memory", about));
  const Row* fits = r.row("memory.process.fits");
  if (fits == nullptr) return;
  const Row *low = r.row("memory.process.needed_low_bytes"), *high = r.row("memory.process.needed_high_bytes");
  r.verdict.push_back(
      {labelled(about, "process"),
       fmt::format("needs about {} per GPU ({}) under {}", said(r, "memory.process.needed_bytes"),
                   interval_text(bytes(*low), bytes(*high), Unit::bytes), said(r, "memory.process.software")),
       !std::get<bool>(fits->value)});
}

void add_train_verdict(Report& r, std::string_view about) {
  add_training_fit(r, about);
  r.verdict.push_back({labelled(about, time_label(r, "step.bound_time_s")),
                       fmt::format("{} per step{}, {} MFU, {}", said(r, "step.time_s"), interval_of_row(r, "step.time"),
                                   said(r, "step.mfu"), said(r, "step.tokens_per_s"))});
  r.verdict.push_back({labelled(about, "bound by"), bound_text(r)});
  if (r.row("estimate.software") != nullptr) r.verdict.push_back({labelled(about, "spent on"), spent_text(r, "step")});
  if (r.row("sensitivity.peak") != nullptr)
    r.verdict.push_back({labelled(about, "helps"), helps_text(r, "sensitivity")});
  if (std::get<bool>(r.row("memory.fits")->value) && r.row("run.days") != nullptr)
    r.verdict.push_back({labelled(about, "run"), run_text(r)});
}

void add_infer_verdict(Report& r, std::string_view about) {
  r.verdict.push_back(fit_finding(r, "inference_memory", about));
  const std::string_view label = r.row("end_to_end.ttft_s")->label;  // "first token after"
  const std::string_view first = label.substr(0, label.rfind(' '));
  r.verdict.push_back({labelled(about, time_label(r, "prefill.bound_time_s")),
                       fmt::format("{} to {}{}, then {} each{}, {}", said(r, "end_to_end.ttft_s"), first,
                                   interval_of_row(r, "end_to_end.ttft"), said(r, "decode.time_per_token_s"),
                                   interval_of_row(r, "decode.time_per_token"), said(r, "decode.tokens_per_s"))});
  const std::string prefill = said(r, "prefill.bound"), decode = said(r, "decode.bound");
  r.verdict.push_back({labelled(about, "bound by"), prefill == decode
                                                        ? prefill + " in prefill and decode"
                                                        : fmt::format("{} in prefill, {} in decode", prefill, decode)});
  if (r.row("decode.breakdown_s.matmul") != nullptr)
    r.verdict.push_back({labelled(about, "spent on"), fmt::format("a token: {}; the prompt: {}",
                                                                  spent_text(r, "decode"), spent_text(r, "prefill"))});
  if (r.row("decode_sensitivity.peak") != nullptr)
    r.verdict.push_back({labelled(about, "helps"), helps_text(r, "decode_sensitivity") + " of a token's time"});
}

}  // namespace llmcalc
