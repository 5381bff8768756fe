#pragma once
/// The questions about a model under a plan: params, memory, flops, train, infer, report.

#include <span>

#include "ask/answer/answer.hpp"
#include "ask/request/options.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

struct Question {
  std::string_view name, summary, examples;
  Parts parts = 0;
  bool needs_hardware = false;
  void (*fill)(const Answer& answer, Report& report);  ///< adds sections, operators and verdict
};

extern const Question params_question, memory_question, flops_question, train_question, infer_question, report_question;
std::span<const Question* const> questions();

/// The report for a request that has been read and checked.
Report answer(const Question& question, const Request& r);

/// "Llama-3.1 405B", or the name if there is no title.
std::string title(const ModelCard& card);
std::string title(const HardwareCard& card);
/// "one H100 SXM 80GB", "8 x H100 SXM 80GB".
std::string devices(const Request& r, Count n);
/// Notes the number of GPUs that serve the batch, if the training run uses more.
void note_engine(const Request& r, Report& report);

}  // namespace llmcalc
