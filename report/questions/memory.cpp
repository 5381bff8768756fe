#include <array>

#include "ask/answer/answer.hpp"
#include "report/brief/brief.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/infer/engine_stages.hpp"
#include "report/model/model_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/train/process_section.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"

namespace llmcalc {
namespace {

void fill_training(const TrainingAnswer& a, Report& report, std::string_view about) {
  if (a.request().ops) report.grids.push_back(operators_grid(a.request(), Phase::training));
  add_training_fit(a, report, about);
  report.brief->bars.push_back(memory_bar(a, about));
}

void fill_inference(const Answer& answer, Report& report, std::string_view about) {
  const InferenceAnswer& a = answer.inference();
  note_engine(answer.request(), report);
  add_inference_fit(a, report, about);
  add_engine_stages(a, false, report);
  report.brief->bars.push_back(memory_bar(a, about));
}

void fill_memory(const Answer& answer, Report& report) {
  const Request& r = answer.request();
  const bool training = r.has(part::training), inference = r.has(part::inference);
  report.brief = brief_of(r, training ? "memory.peak_bytes" : "inference_memory.peak_bytes", false);
  report.brief->rows = {"kv_cache.bytes_per_token", "kv_cache.bytes_per_sequence"};
  if (training) fill_training(answer.training(), report, inference ? "training" : "");
  if (inference) fill_inference(answer, report, training ? "inference" : "");
  if (r.ops && !training)
    for (const Phase phase : {Phase::prefill, Phase::decode}) report.grids.push_back(operators_grid(r, phase));
}

bool is_training(const Request& r) { return r.has(part::training); }
bool is_inference(const Request& r) { return r.has(part::inference); }
constexpr std::array memory_sections{
    SectionRow{"memory", [](const Answer& a) { return training_memory_section(a.training()); }, is_training},
    SectionRow{"memory.process", [](const Answer& a) { return process_section(a.training()); }, is_training},
    SectionRow{"activations", [](const Answer& a) { return activations_section(a.training().request()); }, is_training},
    SectionRow{"inference_memory", [](const Answer& a) { return inference_memory_section(a.inference()); },
               is_inference},
    SectionRow{"kv_cache", [](const Answer& a) { return kv_cache_section(a.inference().request()); }, is_inference}};

}  // namespace

const Question memory_question{
    .name = "memory",
    .summary = "Computes memory per GPU: weights, gradients, optimizer, activations, logits, KV cache, peak.",
    .examples =
        "  llmcalc memory llama-3.1-8b --train --seq 8Ki --recompute full --hardware h100\n"
        "  llmcalc memory llama-3.1-70b --infer --weight-precision q4_k --batch 16",
    .parts = part::training | part::process | part::of_inference | part::halves | part::hardware | part::machine |
             part::operators | part::styles | part::pictures | part::exact | part::full,
    .sections = memory_sections,
    .fill = fill_memory,
    .filled = "remedies ops prefill_ops decode_ops"};

}  // namespace llmcalc
