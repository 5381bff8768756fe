#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>

#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/steady.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/software.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/commands/questions.hpp"
#include "report/explain/general.hpp"
#include "report/explain/operators.hpp"
#include "report/explain/train/layout.hpp"
#include "report/model/model_sections.hpp"
#include "report/question.hpp"
#include "report/render/lines.hpp"
#include "report/render/markdown_text.hpp"
#include "report/render/render.hpp"
#include "report/render/text.hpp"
#include "report/report.hpp"
#include "report/words/index.hpp"
#include "report/words/meaning.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

using explain::Definition;
using explain::Subject;
using Wanted = std::vector<const Definition*>;

constexpr const char* examples =
    "  llmcalc explain                           the whole cheat sheet\n"
    "  llmcalc explain activations_bytes         one formula, and how plans change it\n"
    "  llmcalc explain parameters deepseek-v3    a section, with numbers\n"
    "  llmcalc explain memory.peak_bytes llama-3.1-8b --recompute full\n"
    "  llmcalc explain step.mfu llama-3.1-405b --hardware h100 --tp 8\n"
    "  llmcalc explain attn.q llama-3.1-8b       an operator, a row of --ops\n"
    "  llmcalc explain collective.all_reduce     a collective\n"
    "  llmcalc explain ridge h100                a property of a device";

/// A question whose name and parts are used for the head of the answer.
constexpr Question explain_question{.name = "explain",
                                    .summary = "Shows formulas with their symbols, values and sources.",
                                    .examples = examples,
                                    .parts = part::of_training | part::of_inference | part::target | part::serving |
                                             part::simulated | part::model_flops | part::time | part::hardware |
                                             part::styles,
                                    .fill = [](const Answer&, Report&) {}};

bool any(const Wanted& all, Subject s) {
  for (const Definition* d : all)
    if (d->about() == s) return true;
  return false;
}

/// The parts of a request that these quantities depend on.
Parts parts_of(const Wanted& all) {
  Parts parts = explain_question.parts;
  if (!any(all, Subject::training)) parts &= ~part::of_training;
  if (!any(all, Subject::inference)) parts &= ~(part::of_inference | part::serving | part::simulated);
  return parts;
}

/// Rejects a batch on several pipeline stages, because its formulas describe an engine with a single stage.
void refuse_stages(const Request& r, Parts parts) {
  if ((parts & part::one_batch) != 0 && ranks(r.layout, Group::pipeline) > 1 && !has_traffic(r.serving))
    throw InputError("--pp: a batch is explained on an engine in one pipeline stage; omit it");
}

/// Whether the request allows these parts. If not, throws InputError, or adds a note if `tolerant`.
bool allowed(const Request& r, Parts parts, bool tolerant, Notes& notes) {
  try {
    check(r, parts);
    refuse_stages(r, parts);
    return true;
  } catch (const InputError& e) {
    if (!tolerant) throw;
    notes.push_back({"part_not_explained", e.what()});
    return false;
  }
}

/// A sentence stating why the report lacks this quantity.
std::string lacks(const Definition& d, const Request& r) {
  if (d.hardware() && !r.hardware)
    return fmt::format("{} needs a device: add --hardware HW ('llmcalc list hardware' lists the presets)", d.path);
  if (d.path.starts_with("steady_state.") && r.hardware && has_traffic(r.serving)) {
    const std::string why = why_no_long_run(r, serving_engine(r));
    if (!why.empty()) return fmt::format("{} follows from the limits of a pass: {}", d.path, why);
  }
  if (d.wants.starts_with("--")) return fmt::format("{} needs {}", d.path, d.wants);
  return fmt::format("{} applies only to {}, not to {} under this plan", d.path, d.wants, r.model.name);
}

struct Answers {
  std::vector<explain::Explanation> all;
  Notes notes;
};

Answers answers(const Request& r, const Wanted& wanted) {
  Answers a;
  const bool training = any(wanted, Subject::training), inference = any(wanted, Subject::inference);
  const bool many = training && inference;
  const explain::SettingParts parts{training && allowed(r, r.parts & ~part::of_inference, many, a.notes),
                                    inference && allowed(r, r.parts & ~part::of_training, many, a.notes)};
  const Request trained = for_training(r);
  Request asked = for_inference(has_traffic(r.serving) ? r : of_one_engine(r));
  settle_serving(asked);
  const explain::Setting of_training(trained, {parts.training, false}), rest(asked, {false, parts.inference});
  std::size_t without_device = 0;
  for (const Definition* d : wanted) {
    const explain::Setting& setting = d->about() == Subject::training ? of_training : rest;
    if (auto e = explain::explanation(setting, *d)) {
      e->estimate = explain::estimate_terms(setting, d->path);
      a.all.push_back(std::move(*e));
    }
    without_device += d->hardware() && !r.hardware;
  }
  if (a.all.empty() && a.notes.empty()) throw InputError(lacks(*wanted.front(), r));
  if (a.all.empty()) throw InputError(a.notes.front().text);
  if (without_device > 0)
    a.notes.push_back(
        {"needs_hardware", fmt::format("{} more quantities need a device: add --hardware HW", without_device)});
  return a;
}

json::Value head_json() {
  Report r;
  r.command = "explain";
  return report_json(r);
}

/// The text without trailing empty lines.
std::string trimmed(std::string text) {
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

Output general(const Wanted& wanted) {
  json::Value v = head_json();
  for (const Definition* d : wanted) v["quantities"].push_back(json_of(*d, explain::variants(*d, true)));
  const auto text_of = [wanted](const Screen& screen) {
    std::string out;
    for (const Definition* d : wanted) {
      const std::vector<explain::Variant> variants = explain::variants(*d, true);
      out += screen.style == Style::markdown ? markdown(*d, variants) : text(*d, variants, screen) + "\n";
    }
    return trimmed(std::move(out));
  };
  return {Page{.json = std::move(v), .text = text_of}};
}

Output sheet() {
  json::Value v = head_json();
  v.update(explain::cheat_sheet_json());
  return {Page{.json = std::move(v), .text = [](const Screen& screen) {
                 return screen.style == Style::markdown ? explain::cheat_sheet_markdown()
                                                        : explain::cheat_sheet_text(screen);
               }}};
}

using Explanations = std::vector<explain::Explanation>;

/// `heads`: definitions specific to this answer, to which its explanations refer.
Output numbers(Explanations all, Notes notes, const Report& head, std::deque<Definition> heads = {}) {
  json::Value v = report_json(head);
  for (const explain::Explanation& e : all) v["quantities"].push_back(json_of(e));
  put_notes(v, notes);
  const auto saved = std::make_shared<std::deque<Definition>>(std::move(heads));
  const auto text_of = [saved, all = std::move(all), notes = std::move(notes),
                        title = printable(head.title)](const Screen& screen) {
    const bool marked = screen.style == Style::markdown;
    std::string out = marked ? "# " + markdown_text(title) + "\n\n" : in_bold(title + "\n", screen) + "\n";
    for (const explain::Explanation& e : all) out += marked ? markdown(e) : text(e, screen) + "\n";
    for (const Note& n : notes)
      out += marked ? "- " + markdown_text(n.text) + "\n" : wrapped("note: ", n.text, screen.columns);
    return trimmed(std::move(out));
  };
  return {Page{.json = std::move(v), .text = text_of}};
}

// ---- Operators, and quantities that are not in a model's report

/// Whether any model has an operator of this name. Together, the models below have all operators.
bool is_known_operator(const std::string& name) {
  for (const char* model :
       {"gpt-3-175b", "gemma-3-27b", "deepseek-v3", "qwen1.5-moe-a2.7b", "qwen3-next-80b-a3b", "kimi-linear-48b-a3b",
        "falcon-h1-0.5b", "mamba-130m", "rwkv7-1.5b", "rwkv-6-1.6b", "recurrentgemma-2b", "xlstm-7b", "gemma-3n-e2b",
        "lfm2-8b-a1b", "step-3.5-flash", "nemotron-3-ultra-550b-a55b", "bitnet-b1.58-2b-4t", "deepseek-v4-flash"}) {
    Arch arch = load_model(model).arch;
    if (explain::is_operator(arch, name)) return true;
    arch.linear_layers = LayerSet::all(arch.layers);
    for (LayerMixer& m : arch.mixers) m.query_scale = m.shared_kv;
    if (explain::is_operator(arch, name)) return true;
  }
  return false;
}

Request request(const Arguments& arguments, Parts parts) {
  Request r;
  r.model = arguments.model();
  arguments.apply(r, parts);
  return r;
}

Output operator_numbers(const std::string& name, const Request& r) {
  Notes notes;
  const explain::SettingParts parts{allowed(r, r.parts & ~part::of_inference, true, notes),
                                    allowed(r, r.parts & ~part::of_training, true, notes)};
  explain::OperatorExplanations found = explain::operator_explanations(explain::Setting(r, parts), name);
  if (found.all.empty())
    throw InputError(fmt::format("{} has no operator {} under this plan; 'llmcalc flops {} --ops' lists its operators",
                                 r.model.name, name, r.model.name));
  return numbers(std::move(found.all), notes, answer(explain_question, r), std::move(found.heads));
}

/// Whether all of these are formulas that need no model.
bool is_general(const Wanted& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [](const Definition* d) { return d->formula == nullptr; });
}

Output device_numbers(const Wanted& wanted, const HardwareCard& card) {
  Explanations all;
  for (const Definition* d : wanted)
    if (auto e = explain::device_explanation(card, *d)) all.push_back(std::move(*e));
  if (all.empty())
    throw InputError(
        fmt::format("{} cannot be computed for {}: the formula needs values that are missing from its file",
                    wanted.front()->path, card.name));
  Report head;
  head.command = "explain";
  head.title = title(card);
  head.hardware = {{"name", card.name}, {"source", card.source}};
  return numbers(std::move(all), {}, head);
}

/// The meanings of a word. For a word without a meaning, throws InputError with the nearest quantities and words.
Output word_answer(const std::string& word) {
  if (const std::vector<Meaning> found = meanings(word); !found.empty()) return {meaning_report(found)};
  std::vector<std::string> known = known_words();
  for (const Definition& d : explain::definitions()) known.emplace_back(d.path);
  throw InputError(fmt::format("unknown quantity or word {}{} ('llmcalc explain' lists all)", in_quotes(word),
                               suggestion(word, known)));
}

Output answer_explain(const Arguments& arguments, Runner&) {
  const std::string quantity = arguments.word("QUANTITY"), model = arguments.word("MODEL");
  const auto refuse_plan = [&](bool device) {
    if (const Option* of_plan = arguments.first_of_plan(device ? "--hardware" : ""))
      throw InputError(
          fmt::format("{} affects only numbers, which need a model: 'llmcalc explain QUANTITY MODEL'", of_plan->flag));
  };
  if (arguments.has("--all") && !quantity.empty()) throw InputError("--all prints every formula; omit it, or QUANTITY");
  if (quantity.empty()) refuse_plan(false);
  if (quantity.empty()) return arguments.has("--all") ? sheet() : Output{explain_index()};
  if (same_name(quantity, "glossary")) return {glossary_report()};
  const bool is_number = explain::is_quantity(quantity) || is_known_operator(quantity);
  if (!is_number && model.empty() && !find_builtin(builtin_models(), quantity)) return word_answer(quantity);
  if (model.empty() && find_builtin(builtin_models(), quantity))
    throw InputError(fmt::format("the quantity comes before the model: 'llmcalc explain all {}'", quantity));
  if (!explain::is_quantity(quantity) && is_known_operator(quantity)) {
    if (model.empty())
      throw InputError(
          fmt::format("{} is an operator: specify a model, 'llmcalc explain {} MODEL'", quantity, quantity));
    return operator_numbers(quantity, request(arguments, explain_question.parts));
  }
  const Wanted wanted = explain::named(quantity);
  if (model.empty() || is_general(wanted)) refuse_plan(is_general(wanted));
  if (is_general(wanted)) {
    const std::string device = arguments.text("--hardware", model);
    return device.empty()
               ? general(wanted)
               : device_numbers(wanted, arguments.has("--hardware") ? arguments.hardware() : load_hardware(device));
  }
  if (model.empty()) return general(wanted);
  const Request r = request(arguments, parts_of(wanted));
  const Answers a = answers(r, wanted);
  return numbers(a.all, a.notes, answer(explain_question, r));
}

constexpr std::array own_explain_options{Option{"--all", "", "every formula: the cheat sheet"}};
constexpr std::array explain_words{
    Word{"QUANTITY",
         "a key from --json or its last part, a section, an operator from --ops, or 'all'; or a word to look up: an "
         "option, a format, a term, or 'glossary'",
         false},
    Word{"MODEL", "model (as in other commands) or device whose numbers to show", false}};

}  // namespace

const Command explain_command{
    .name = "explain",
    .arguments = "[QUANTITY [MODEL]]",
    .summary = "formula, symbols, numbers, source",
    .about = explain_question.summary,
    .examples = explain_question.examples,
    .words = explain_words,
    .own = own_explain_options,
    .parts = explain_question.parts,
    .keys = "index meanings terms options formats quantities rules model hardware inputs conventions layout stages",
    .answer = answer_explain};

}  // namespace llmcalc
