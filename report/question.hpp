#pragma once
/// The questions about a model under a plan: params, memory, flops, train, infer, report.

#include <optional>
#include <span>

#include "ask/answer/answer.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// A section that some answers include, under its key in JSON. Evaluated only if needed.
struct SectionRow {
  std::string_view key;
  Section (*section)(const Answer& answer) = nullptr;
  bool (*applies)(const Request& r) = nullptr;  ///< whether the section applies to a request; null: always
};

struct Question {
  std::string_view name, summary, examples;
  Parts parts = 0;
  bool needs_hardware = false;
  std::span<const SectionRow> sections{};
  void (*fill)(const Answer& answer, Report& report);  ///< adds operators and verdict to the report, after the sections
  std::string_view filled{};                           ///< keys in JSON that fill() adds, separated by spaces
};

extern const Question params_question, memory_question, flops_question, train_question, infer_question, report_question;
std::span<const Question* const> questions();

/// The question of this name; null if unknown.
const Question* find_question(std::string_view name);
/// Whether a section is part of this answer.
bool applies(const SectionRow& row, const Request& r);
/// The worse of the memory verdicts on training and inference; absent without hardware.
std::optional<Fit> fit_of(const Answer& answer);

/// Keys of the question's report in JSON, in addition to the keys of every report; separated by spaces.
std::string answer_keys(const Question& question);

/// The report for a request that has been read and checked.
Report answer(const Question& question, const Request& r);

/// Title of a model or device: "Llama-3.1 405B", or its name if it has no title.
std::string title(const ModelCard& card);
std::string title(const HardwareCard& card);
/// Number and title of the devices: "one H100 SXM 80GB", "8 x H100 SXM 80GB".
std::string devices(const Request& r, Count n);
/// The devices of the layout: "2 x RTX 3090 + RTX 3060".
std::string devices_of(const Request& r);
/// Notes the number of GPUs that serve the batch, if the training run uses more.
void note_engine(const Request& r, Report& report);

}  // namespace llmcalc
