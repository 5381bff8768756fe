#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ask/request/check/check.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "evidence/logs/served_model.hpp"
#include "presets/formats/weight_formats.hpp"
#include "presets/load.hpp"
#include "presets/names/meant_model.hpp"
#include "report/commands/arguments.hpp"
#include "report/diagnose/diagnosis.hpp"
#include "report/model/model_sections.hpp"
#include "report/plan/plan_report.hpp"
#include "report/question.hpp"
#include "report/serve/serving_sections.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr Parts diagnose_parts =
    part::training | part::recorded | part::of_inference | part::halves | part::hardware | part::styles | part::exact;

MemoryLog log_of(const Arguments& arguments) {
  if (arguments.word("LOG") == json::standard_input && arguments.word("MODEL") == json::standard_input)
    throw InputError("LOG and MODEL are both '-', but there is only one standard input; pass one of them as a file");
  const auto [text, where] = arguments.log();
  return read_memory_log(text, where);
}

/// The half of the answer that the log covers: inference for a server's log; otherwise training unless --infer is set.
Parts half_of(const MemoryLog& log, const Arguments& arguments) {
  const bool server = log.is_of_server() && log.kind != MemoryLogKind::training;
  if (arguments.has("--train") && arguments.has("--infer"))
    throw InputError("diagnose: a log covers training or inference; specify --train or --infer, not both");
  if (log.kind == MemoryLogKind::server && arguments.has("--train"))
    throw InputError("diagnose --train: the log comes from a server, which does not train; omit it");
  if (log.kind == MemoryLogKind::training && arguments.has("--infer"))
    throw InputError("diagnose --infer: the log comes from a training run; omit it");
  const bool inference = arguments.has("--infer") || (server && !arguments.has("--train"));
  return diagnose_parts & ~(inference ? part::of_training : part::of_inference);
}

/// Whether the model's own formats agree with the log: the log names no format, or a format with the same number of
/// bits.
bool has_formats_of(const ServerConfig& config, const ModelCard& model) {
  if (!model.weights || model.weights->plain()) return false;
  const DType own = (*model.weights)[model.arch.has_experts() ? Component::experts : Component::mlp];
  const std::optional<DType> said = said_weights(config);
  return !said || whole_bits(said->format()) == whole_bits(own.format());
}

/// Sets the options that the user did not specify to the values in the log.
void give_said(Request& r, const ServerConfig& config, const Arguments& arguments, Notes& notes) {
  std::vector<std::string> unknown, given;
  const std::optional<WeightFormats> weights = served_weights(config, dtypes::bf16);
  const bool open = !arguments.has("--weight-precision");
  if (open && has_formats_of(config, r.model)) {
    notes.push_back(
        {"weight_formats", fmt::format("weights in {}, as in the checkpoint", weight_formats_text(*r.model.weights))});
  } else if (open && weights) {
    r.model.weights = weights;
    const bool all_blocks = (*weights)[Component::mlp] == (*weights)[Component::experts];
    given.push_back(fmt::format("{} weights in {}", all_blocks ? "block" : "expert", said_weights(config)->name()));
  }
  for (const SaidOption& o : said_options(config, r.model, unknown)) {
    if (arguments.has(o.flag)) continue;
    give(r, *find_option(o.flag), o.value);
    given.push_back(fmt::format("{} {}", o.flag, o.value));
  }
  if (!given.empty()) notes.push_back({"taken_from_log", fmt::format("from the log: {}", fmt::join(given, ", "))});
  if (!unknown.empty())
    notes.push_back(
        {"ignored_in_log", fmt::format("the log contains {}, which the prediction ignores", fmt::join(unknown, ", "))});
}

/// The newest known version of the software that is not newer than the log's version; the newest of all if the log's
/// version is unknown.
SoftwareCard software_of(const std::string& name, const std::string& version) {
  if (version.empty() || version.find_first_of("0123456789") > 1) return load_software(name);
  try {
    return load_software(name + "@" + version);
  } catch (const InputError&) {  // the log's version is older than the first known version
    return load_software(name);
  }
}

/// Sets the software from the log, unless --software is set.
void give_software(Request& r, const MemoryLog& log, Parts parts, const Arguments& arguments) {
  if (arguments.has("--software")) return;
  const bool infers = (parts & part::inference) != 0;
  const std::string name(infers && log.is_of_server() ? program(log.server.server).engine
                         : infers                     ? std::string_view()
                                                      : std::string_view(log.training.software));
  if (name.empty() || find_builtin(builtin_software(), name) == nullptr) return;
  const SoftwareCard card = software_of(name, infers ? log.server.config.version : log.training.version);
  if (infers && card.inference) r.engine = card;
  if (!infers && card.training) r.software = card;
  if (arguments.has("--hardware")) r.given.push_back("--software");
  r.any_software = true;  // the log shows that the software ran the plan
}

/// Sets ranks from the log, except tensor-parallel ranks, which the user may specify.
void give_ranks(Request& r, const ServerConfig& config, Notes& notes) {
  std::vector<std::string> unknown;
  const Layout of_log = served_layout(config, r.model.arch, r.layout, unknown);
  if (!unknown.empty())
    notes.push_back({"ignored_ranks_in_log",
                     fmt::format("the log contains {}, which do not divide the model: the prediction ignores them",
                                 fmt::join(unknown, ", "))});
  if (of_log == r.layout) return;
  r.layout = of_log;
  std::string text = fmt::format("{} data-parallel ranks", of_log.dp);
  if (r.model.arch.has_experts())
    text +=
        fmt::format(", {} over {} ranks", of_log.ep > 1 ? "experts distributed" : "the width of every expert sharded",
                    ranks(of_log, of_log.ep > 1 ? Group::expert : Group::expert_tensor));
  notes.push_back({"ranks_from_log", "from the log: " + text});
}

/// The preset for a log's model name, with the weight format in that name; absent if no preset matches.
std::optional<ModelCard> meant_card(const std::string& named, bool has_file_type) {
  try {
    const MeantModel m = meant_model(named);
    if (m.preset == nullptr) return std::nullopt;
    ModelCard card = load_model(*m.preset);
    if (!has_file_type) take_named_format(card, named, m);
    return card;
  } catch (const InputError&) {  // a name with contradictory words
    return std::nullopt;
  }
}

/// The model that MODEL or, without it, the log names; absent if neither names one.
std::optional<ModelCard> model_of(const MemoryLog& log, const Arguments& arguments, Notes& notes) {
  if (!arguments.word("MODEL").empty()) return arguments.model();
  const std::string& named = log.server.config.model;
  if (named.empty()) return std::nullopt;
  if (const Builtin* preset = served_preset(named)) {
    notes.push_back(
        {"model_from_log", fmt::format("the log names {}, which is the preset {}", in_quotes(named), preset->name)});
    return load_model(*preset);
  }
  if (auto card = meant_card(named, !log.server.config.file_type.empty())) {
    notes.push_back({"model_resembles_log",
                     fmt::format("the log names {}: the prediction is for {}", in_quotes(named), title(*card))});
    return card;
  }
  notes.push_back(
      {"model_in_log_unknown",
       fmt::format("the log names {}, which is not a preset: specify MODEL for a prediction", in_quotes(named))});
  return std::nullopt;
}

void refuse_without_model(const Arguments& arguments) {
  for (const char* flag : {"--train", "--infer"})
    if (arguments.has(flag))
      throw InputError(fmt::format("{} has no effect without MODEL; specify one, or omit the option", flag));
  if (const Option* o = arguments.first_of_plan("--hardware"))
    throw InputError(fmt::format("{} has no effect without MODEL; specify one, or omit the option", o->flag));
}

void refuse_unanswered(const Arguments& arguments) {
  if (arguments.has("--require-fit"))
    throw InputError("--require-fit applies to a plan, but a log records a past run; omit it");
}

/// The request for the plan to compare with the log.
Request request_of(ModelCard model, const MemoryLog& log, const Arguments& arguments, Notes& notes) {
  Request r;
  r.model = std::move(model);
  const Parts parts = half_of(log, arguments);
  if ((parts & part::inference) != 0) give_said(r, log.server.config, arguments, notes);
  give_software(r, log, parts, arguments);
  arguments.apply(r, parts);
  if (r.gave("--memory-utilization") && (log.server.config.utilization || log.kind != MemoryLogKind::server))
    throw InputError("--memory-utilization applies only to a server log that does not contain it; omit it");
  if (log.server.config.utilization) r.plan.memory_utilization = *log.server.config.utilization;
  check(r, parts);
  if ((parts & part::inference) != 0) give_ranks(r, log.server.config, notes);
  return r;
}

Output answer_diagnose(const Arguments& arguments, Runner&) {
  refuse_unanswered(arguments);
  DiagnosisQuestion q{.log = log_of(arguments)};
  if (std::optional<ModelCard> model = model_of(q.log, arguments, q.notes)) {
    q.plan = request_of(std::move(*model), q.log, arguments, q.notes);
    q.hardware = q.plan->hardware;
  } else {
    refuse_without_model(arguments);
    if (arguments.has("--hardware")) q.hardware = arguments.hardware();
  }
  return {diagnosis(q)};
}

constexpr std::array diagnose_words{
    Word{"LOG",
         "a log of a server or of training software, a CUDA out-of-memory message, or a memory_summary(); '-' for "
         "standard input"},
    Word{.name = "MODEL", .help = "the model to predict [the preset named in the log]", .required = false}};

}  // namespace

const Command diagnose_command{
    .name = "diagnose",
    .arguments = "LOG [MODEL]",
    .summary = "memory breakdown from a log",
    .about =
        "Reads the startup log of a server (vLLM, SGLang, TensorRT-LLM, llama.cpp, Ollama, TGI), a PyTorch "
        "out-of-memory "
        "message, a torch.cuda.memory_summary() table, or the memory reports of training software (Megatron-LM, NeMo, "
        "DeepSpeed, torchtune, torchtitan), and attributes the device memory to named terms that add up: weights, KV "
        "cache, activations, CUDA graphs, libraries, fragmentation, other processes, free. With a MODEL and its plan "
        "the "
        "report compares each term with its prediction.",
    .examples =
        "  llmcalc diagnose vllm.log\n"
        "  llmcalc diagnose vllm.log llama-3.1-8b --hardware h100\n"
        "  llmcalc diagnose train.log llama-3.1-8b --seq 8Ki --fsdp --dp 8\n"
        "  journalctl -u vllm | llmcalc diagnose -",
    .words = diagnose_words,
    .parts = diagnose_parts,
    .keys = "model hardware inputs conventions layout stages diagnosis booking",
    .answer = answer_diagnose};

}  // namespace llmcalc
