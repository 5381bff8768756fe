#include "cli/command.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <new>

#include "cli/commands/ask.hpp"
#include "cli/output.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr std::array all{
    Command{"params", "MODEL", "parameters by component: total, active, non-embedding",
            [](Args a) { return ask(params_question, a); }},
    Command{"memory", "MODEL [--train|--infer]", "weights, gradients, optimizer, activations, KV cache, peak",
            [](Args a) { return ask(memory_question, a); }},
    Command{"flops", "MODEL", "forward, backward, recompute; every named formula",
            [](Args a) { return ask(flops_question, a); }},
    Command{"train", "MODEL --hardware HW", "one optimizer step: time, MFU, bound; days, energy, cost",
            [](Args a) { return ask(train_question, a); }},
    Command{"infer", "MODEL --hardware HW", "prefill, decode, whole generation; largest batch and context",
            [](Args a) { return ask(infer_question, a); }},
    Command{"report", "MODEL --hardware HW", "all of it", [](Args a) { return ask(report_question, a); }},
    Command{"explain", "[QUANTITY [MODEL]]", "the formula, its symbols, the numbers put in, the source", run_explain},
    Command{"scaling", "--compute C", "compute-optimal sizes under every named fit", run_scaling},
    Command{"collective", "OP --bytes M --ranks N", "volume and time of a collective", run_collective},
    Command{"list", "models|hardware|dtypes", "what is built in", run_list},
    Command{"show", "NAME", "a preset as JSON", run_show},
    Command{"import", "CONFIG", "a Hugging Face config.json as an explicit model file", run_import},
    Command{"validate", "[MODEL|--suite NAME]", "the reference transformer run: every byte and FLOP", run_validate},
    Command{"learn", "FILE.txt", "train a small transformer on a text, on this machine", run_learn},
    Command{"generate", "CHECKPOINT [PROMPT]", "continue a text with it", run_generate},
    Command{"calibrate", "[--out FILE]", "what this machine delivers, as a hardware file", run_calibrate},
    Command{"check", "[--baseline FILE]", "engine against textbook, or today against a saved report", run_check},
};

std::string help() {
  std::string s = "llmcalc: parameters, memory, FLOPs, time and cost of any decoder-only transformer\n\n";
  for (const Command& c : all) s += fmt::format("  {:<11}{:<25}{}\n", c.name, c.arguments, c.summary);
  return s +
         "\n  MODEL  a preset ('llmcalc list models'), an llmcalc model file, a config.json or its folder\n"
         "  HW     a preset ('llmcalc list hardware') or a hardware file\n"
         "\n  llmcalc COMMAND --help shows its options. --json and --markdown work everywhere.\n";
}

const Command& find(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& c : all) {
    if (c.name == name) return c;
    known.emplace_back(c.name);
  }
  const std::vector<std::string> near = nearest(name, known, 1);
  throw InputError(fmt::format("unknown command {}{}; 'llmcalc --help' shows all", in_quotes(name),
                               near.empty() ? "" : ", did you mean '" + near[0] + "'?"));
}

int dispatch(Args args) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    write_out(help());
    return args.empty() ? 2 : 0;
  }
  if (args[0] == "--version") {
    write_out("llmcalc " LLMCALC_VERSION "\n");
    return 0;
  }
  return find(args[0]).run(args.subspan(1));
}

int refuse(std::string_view sentence) {
  fmt::print(stderr, "llmcalc: {}\n", sentence);
  return 2;
}

}  // namespace

std::span<const Command> commands() { return all; }

int run_llmcalc(Args args) {
  try {
    return dispatch(args);
  } catch (const PipeClosed&) {
    return 0;
  } catch (const InputError& e) {
    return refuse(e.what());
  } catch (const Overflow&) {
    return refuse("these sizes give a count past 2^63; check the model, the batch and the sequence length");
  } catch (const std::bad_alloc&) {
    return refuse("out of memory");
  }
}

}  // namespace llmcalc
