#pragma once
/// Arguments of one command, as typed or as JSON. Every mistake is reported in one sentence.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "report/commands/command.hpp"
#include "text/quantity.hpp"

namespace llmcalc {

struct Launched;

using Args = std::span<const std::string>;

/// Whether names in a request may be file paths.
enum class Files : std::uint8_t { refused, read };

/// Throws InputError unless the text, the value of an option (null: of MODEL), names presets wherever it may name
/// files.
void require_presets(const Option* o, const std::string& text);

class Arguments {
 public:
  /// Reads arguments as typed. `all`: commands searched when an option belongs to another command.
  Arguments(const Command& command, Args args, std::span<const Command> all = answered_commands());
  /// Reads a request in JSON: "model", "hardware", and arguments and options by their keys under "inputs".
  Arguments(const Command& command, const json::Value& request, Files files);

  const Command& command() const { return command_; }
  /// The arguments as typed, without the command.
  std::span<const std::string> typed() const { return typed_; }
  /// The positional argument with this name; empty if absent.
  std::string word(std::string_view name) const;
  /// The positional argument with this name and all arguments after it.
  std::vector<std::string> words_from(std::string_view name) const;
  bool has(std::string_view flag) const;
  /// Whether the answer is in JSON.
  bool in_json() const { return json_ || has("--json"); }
  /// Whether a quantity may omit its unit: only in JSON, where numbers are in base units.
  Bare bare() const { return json_ ? Bare::allowed : Bare::refused; }
  /// Whether names may be file paths.
  bool reads_files() const { return files_ == Files::read; }
  /// The output settings that the options select, for 80 columns without colors.
  Screen screen() const;
  /// The value of an option, or `otherwise`.
  std::string text(std::string_view flag, std::string_view otherwise = "") const;
  /// The values of an option that may occur several times, in order.
  std::vector<std::string> texts(std::string_view flag) const;
  /// The options present, with their values as text, in order.
  std::vector<std::pair<const Option*, std::string>> options_given() const;
  /// The model that MODEL names.
  ModelCard model() const;
  /// The model that CONFIG names.
  ModelCard config() const;
  /// The device of --hardware.
  HardwareCard hardware() const;
  /// The text of LOG (typed: the content of the file; in JSON: the text itself), and its name for messages.
  std::pair<std::string, std::string> log() const;
  /// The same arguments with a different value for one option.
  Arguments with(std::string_view flag, const std::string& text) const;
  /// The same arguments with an option without a value, if the command has it.
  Arguments with_flag(std::string_view flag) const;
  /// These arguments, plus plan options that only `others` has.
  Arguments with_plan_of(const Arguments& others) const;
  /// The first option on the command line, other than `besides`, that describes a plan; null if no option does.
  const Option* first_of_plan(std::string_view besides = "") const;

  /// Reads the plan options into a request whose model is set, fills in all defaults, and rejects options without
  /// effect on the answer.
  void apply(Request& r) const;
  /// apply() for an answer that consists of `parts`, a subset of the command's.
  void apply(Request& r, Parts parts) const;
  /// The request with the model and the plan options, other than `besides`, before defaults are filled in.
  Request unsettled(std::span<const Option* const> besides) const;

 private:
  struct Given {
    const Option* option;
    std::string text;
    json::Value said{};  ///< the option's value in a JSON request
  };
  void refuse_extras(const std::vector<std::string>& extras) const;
  void refuse_missing_words() const;
  void refuse_two_styles() const;
  void add(const std::string& name, const std::string& text);
  void add_input(const std::string& key, const json::Value& value);
  void read_model(const json::Value& value);
  void read_hardware(const json::Value& value);
  void take_launch();
  void take_model(const Launched& from);
  void take_options(const Launched& from);
  void give_unless_typed(std::string_view flag, const std::string& text);
  const Option* option_of_key(std::string_view key) const;
  std::size_t place_of_model() const;
  [[noreturn]] void refuse_unknown(std::string_view flag) const;
  void read_options(Request& r, const std::vector<bool>& chosen) const;
  void read_option(Request& r, const Given& g) const;
  std::optional<Request> settled_as_typed(Request r) const;
  std::vector<bool> chosen_inputs(const Request& start) const;

  const Command& command_;
  std::span<const Command> all_;
  std::vector<std::string> typed_;
  std::vector<std::string> words_;
  std::vector<Given> given_;
  std::vector<const Option*> off_;  ///< flags that a JSON request sets to false
  bool json_ = false;
  Files files_ = Files::read;
  std::optional<ModelCard> model_;
  std::optional<HardwareCard> hardware_;
};

}  // namespace llmcalc
