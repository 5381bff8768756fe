#include "cli/arguments.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "cli/output.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Heads the options in help, by what they are about.
std::string_view group_of(const Option& o) {
  if (o.uses & for_run) return "The run";
  if (o.uses & for_time) return o.uses & (for_training | for_inference) ? "Both" : "Time";
  const bool training = o.uses & for_training, inference = o.uses & for_inference;
  return training && inference ? "Both" : training ? "Training" : inference ? "Inference" : "Output";
}

}  // namespace

Arguments::Arguments(std::string command, std::string summary, std::string examples)
    : command_(std::move(command)), app_(std::make_unique<CLI::App>(std::move(summary), "llmcalc " + command_)) {
  app_->allow_extras();
  app_->get_formatter()->column_width(34);
  app_->get_formatter()->label("REQUIRED", "");
  app_->set_help_flag("-h,--help", "this help");
  if (!examples.empty()) app_->footer("\nExamples:\n" + examples);
}
Arguments::~Arguments() = default;

void Arguments::positional(std::string_view name, std::string_view help, std::string& value, bool required) {
  app_->add_option(std::string(name), value, std::string(help))->required(required)->type_name("");
}
void Arguments::positionals(std::string_view name, std::string_view help, std::vector<std::string>& values) {
  app_->add_option(std::string(name), values, std::string(help))->type_name("");
}
void Arguments::option(std::string_view flag, std::string_view value_name, std::string_view help, std::string& value) {
  app_->add_option(std::string(flag), value, std::string(help))->type_name(std::string(value_name));
  valued_.emplace_back(flag);
}
void Arguments::flag(std::string_view flag, std::string_view help, bool& value) {
  app_->add_flag(std::string(flag), value, std::string(help));
}

void Arguments::styles() {
  flag("--json", "machine-readable, base units", json_);
  flag("--markdown", "tables in Markdown", markdown_);
}

void Arguments::plan(unsigned uses) {
  for (const Option& o : options()) {
    if ((o.uses & uses) == 0) continue;
    given_.push_back(std::make_unique<Given>(Given{&o, "", false}));
    Given& g = *given_.back();
    CLI::Option* added = nullptr;
    if (o.value.empty()) {
      added = app_->add_flag(std::string(o.flag), g.on, std::string(o.help));
    } else {
      added = app_->add_option(std::string(o.flag), g.text, std::string(o.help))->type_name(std::string(o.value));
      valued_.emplace_back(o.flag);
    }
    added->group(std::string(group_of(o)));
  }
}

/// "--seq", "-5" -> "--seq=-5", so that a wrong value is read as a value and gets its own sentence.
std::vector<std::string> Arguments::joined(Args args) const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool takes = std::find(valued_.begin(), valued_.end(), args[i]) != valued_.end();
    if (takes && i + 1 == args.size())
      throw InputError(fmt::format("{} wants a value; 'llmcalc {} --help' says which", args[i], command_));
    if (takes) {
      out.push_back(args[i] + "=" + args[i + 1]);
      ++i;
    } else {
      out.push_back(args[i]);
    }
  }
  return out;
}

void Arguments::refuse_extra(const std::string& token) const {
  if (!token.starts_with("-"))
    throw InputError(fmt::format("{} is one argument too many for 'llmcalc {}'; its help shows what it takes",
                                 in_quotes(token), command_));
  const std::string name = token.substr(0, token.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* o : app_->get_options())
    for (const std::string& n : o->get_lnames()) known.push_back("--" + n);
  const std::vector<std::string> near = nearest(name, known, 1);
  throw InputError(fmt::format("unknown option {} for 'llmcalc {}'{}; 'llmcalc {} --help' shows all", name, command_,
                               near.empty() ? "" : ", did you mean " + near[0] + "?", command_));
}

bool Arguments::parse(Args args) {
  std::vector<std::string> all = joined(args);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const std::string a = all[i].substr(0, all[i].find('='));
      if (a.starts_with("--") && a == all[j].substr(0, all[j].find('=')))
        throw InputError(fmt::format("{} is given twice; give it once", a));
    }
  std::reverse(all.begin(), all.end());
  try {
    app_->parse(all);
  } catch (const CLI::CallForHelp&) {
    write_out(app_->help());
    return false;
  } catch (const CLI::RequiredError& e) {
    throw InputError(fmt::format("'llmcalc {}' wants a {}; 'llmcalc {} --help' shows its arguments", command_,
                                 std::string(e.what()).substr(0, std::string(e.what()).find(' ')), command_));
  } catch (const CLI::ParseError& e) {
    throw InputError(fmt::format("{} ('llmcalc {} --help' shows the options)", e.what(), command_));
  }
  const std::vector<std::string> extra = app_->remaining();
  if (!extra.empty()) refuse_extra(extra.front());
  if (json_ && markdown_) throw InputError("--json and --markdown exclude each other; give one of them");
  return true;
}

void Arguments::apply(Request& r) const {
  llmcalc::Given given;
  for (const auto& g : given_) {
    if (g->on || !g->text.empty()) g->option->read(r, given, g->text, g->option->flag);
  }
  settle(r, given);
}

std::string Arguments::first_plan_option(unsigned uses) const {
  for (const auto& g : given_)
    if ((g->on || !g->text.empty()) && (g->option->uses & uses) == 0) return std::string(g->option->flag);
  return "";
}

Style Arguments::style() const { return json_ ? Style::json : markdown_ ? Style::markdown : Style::text; }

}  // namespace llmcalc
