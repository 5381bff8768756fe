#pragma once
/// The arguments of one command as they were typed: words, options and their values, with every mistake answered in one
/// sentence.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ask/request/options.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

struct Command;
using Args = std::span<const std::string>;

class Arguments {
 public:
  Arguments(const Command& command, Args args);

  const Command& command() const { return command_; }
  /// The arguments as typed, without the command.
  std::span<const std::string> typed() const { return typed_; }
  /// The word of that name; empty: not given.
  std::string word(std::string_view name) const;
  /// The word of that name and all behind it.
  std::vector<std::string> words_from(std::string_view name) const;
  bool has(std::string_view flag) const;
  /// The value of an option, or `otherwise`.
  std::string text(std::string_view flag, std::string_view otherwise = "") const;
  /// The same arguments with another value of an option that was given.
  Arguments with(std::string_view flag, const std::string& text) const;
  /// These arguments, and options of a plan that `others` have besides.
  Arguments with_plan_of(const Arguments& others) const;
  /// The first option on the command line that describes a plan, `besides` apart; null if there is none.
  const Option* first_of_plan(std::string_view besides = "") const;

  /// Reads the plan options given into a request whose model is known, settles the rest, and refuses options that
  /// change nothing in the answer.
  void apply(Request& r) const;
  /// apply() for an answer that consists of `parts`, some of the command's.
  void apply(Request& r, Parts parts) const;
  /// The rendering that the options and the terminal ask for.
  Screen screen() const;

 private:
  struct Given {
    const Option* option;
    std::string text;
  };
  void refuse_extras(const std::vector<std::string>& extras) const;
  void add(const std::string& name, const std::string& text);
  [[noreturn]] void refuse_unknown(std::string_view flag) const;

  const Command& command_;
  std::vector<std::string> typed_;
  std::vector<std::string> words_;
  std::vector<Given> given_;
};

/// Every option that a command takes: its own, then those of the table.
std::vector<const Option*> options_of(const Command& command);

/// A sentence for an option that another command has.
std::string elsewhere(const Command& command, const Option& o);

}  // namespace llmcalc
