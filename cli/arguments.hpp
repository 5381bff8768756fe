#pragma once
/// The arguments of one command: positionals, plan options and switches, with every mistake answered in one sentence.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/options.hpp"
#include "report/report.hpp"

namespace CLI {
class App;
}

namespace llmcalc {

using Args = std::span<const std::string>;

class Arguments {
 public:
  /// `command` as typed after "llmcalc"; `summary` and `examples` head and foot its help.
  Arguments(std::string command, std::string summary, std::string examples = "");
  ~Arguments();

  void positional(std::string_view name, std::string_view help, std::string& value, bool required = true);
  void positionals(std::string_view name, std::string_view help, std::vector<std::string>& values);
  void option(std::string_view flag, std::string_view value_name, std::string_view help, std::string& value);
  void flag(std::string_view flag, std::string_view help, bool& value);
  /// --json and --markdown.
  void styles();
  /// The plan options that this command uses, in groups.
  void plan(unsigned uses);

  /// Reads the arguments. False: help was asked for and printed.
  bool parse(Args args);

  /// Reads the plan options given into a request whose model and hardware are known, and settles the rest.
  void apply(Request& r) const;
  /// The first plan option that was given; empty: none. Of those that none of `uses` understands, if that is not 0.
  std::string first_plan_option(unsigned uses = 0) const;
  Style style() const;

 private:
  struct Given {
    const Option* option;
    std::string text;
    bool on = false;
  };
  [[noreturn]] void refuse_extra(const std::string& token) const;
  std::vector<std::string> joined(Args args) const;

  std::string command_;
  std::unique_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<Given>> given_;
  std::vector<std::string> valued_;  // flags that take a value
  bool json_ = false, markdown_ = false;
};

}  // namespace llmcalc
