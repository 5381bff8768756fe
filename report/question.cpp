#include "report/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/answer/fit.hpp"
#include "ask/request/machine.hpp"
#include "ask/request/options/options.hpp"
#include "report/model/model_sections.hpp"
#include "report/train/stages.hpp"
#include "text/counted.hpp"

namespace llmcalc {

std::span<const Question* const> questions() {
  static constexpr std::array all{&params_question, &memory_question, &flops_question,
                                  &train_question,  &infer_question,  &report_question};
  return all;
}

const Question* find_question(std::string_view name) {
  const auto all = questions();
  const auto q = std::find_if(all.begin(), all.end(), [&](const Question* one) { return one->name == name; });
  return q == all.end() ? nullptr : *q;
}

bool applies(const SectionRow& row, const Request& r) { return row.applies == nullptr || row.applies(r); }

std::optional<Fit> fit_of(const Answer& answer) {
  const Request& r = answer.request();
  std::optional<Fit> worst;
  const auto add = [&](const Fit& fit) {
    if (!worst || fit.probability < worst->probability) worst = fit;
  };
  if (r.hardware && r.has(part::training)) add(fit_of(answer.training()));
  if (r.hardware && r.has(part::inference)) add(fit_of(answer.inference()));
  return worst;
}

Report answer(const Question& question, const Request& r) {
  const Answer all(r);
  Report report;
  report.command = question.name;
  report.title = title(r.model);
  if (r.hardware) report.title += " on " + devices_of(r);
  report.model = model_json(r.model);
  if (r.hardware) report.hardware = machine_json(r);
  report.inputs = inputs_json(r);
  report.conventions = conventions_json(r);
  report.notes = notes(r);
  if (r.has(part::training)) {
    report.layout = layout_json(r);
    add_stages(all.training(), report);
  }
  for (const SectionRow& row : question.sections)
    if (applies(row, r)) report.sections.push_back(row.section(all));
  question.fill(all, report);
  return report;
}

std::string answer_keys(const Question& question) {
  std::string all = "model hardware inputs conventions";
  if ((question.parts & part::training) != 0) all += " layout stages";
  for (const SectionRow& row : question.sections) all += fmt::format(" {}", row.key.substr(0, row.key.find('.')));
  return fmt::format("{} {}", all, question.filled);
}

std::string title(const ModelCard& card) { return card.title.empty() ? card.name : card.title; }
std::string title(const HardwareCard& card) { return card.title.empty() ? card.name : card.title; }

std::string devices(const Request& r, Count n) {
  const std::string name = title(*r.hardware);
  return n == 1 ? "one " + name : fmt::format("{} x {}", n, name);
}

std::string devices_of(const Request& r) {
  if (!has_unlike_devices(r)) return devices(r, devices(r.layout));
  std::string text;
  for (const auto& [card, n] : devices_by_kind(r))
    text += (text.empty() ? "" : " + ") + (n == 1 ? title(*card) : fmt::format("{} x {}", n, title(*card)));
  return text;
}

void note_engine(const Request& r, Report& report) {
  const Count trained = devices(r.layout), serving = devices(one_engine(r.layout));
  if (trained == serving) return;
  report.notes.push_back(
      {"separate_engine",
       fmt::format(
           "training runs on {} and inference on {}: an inference engine uses only the tensor-parallel ranks of "
           "the training layout",
           counted(trained, "GPU"), counted(serving, "GPU"))});
}

}  // namespace llmcalc
