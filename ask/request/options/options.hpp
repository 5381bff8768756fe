#pragma once
/// Table of all options that describe a plan, a run and the output. Parsing, help, the manual, completions, the keys
/// under `inputs` and error messages all derive from its rows.

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "ask/request/request.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Reads an option's value into a request, and returns the value in effect (null: not in the report).
struct Field {
  void (*read)(Request&, std::string_view text, std::string_view where) = nullptr;
  json::Value (*effective)(const Request&) = nullptr;
};

struct Option {
  std::string_view flag;       ///< name as typed: "--micro-batch"
  std::string_view value{};    ///< form of the value: "N", "op|step"; empty: a flag without a value; "[yes]": optional
  std::string_view help{};     ///< help text of one line, with the default in brackets
  bool common = false;         ///< whether --help shows it; --help-all shows all options
  Parts parts = 0;             ///< parts of the answer that the option affects
  std::string_view needs{};    ///< option without which this one has no effect
  std::string_view instead{};  ///< the option to use for the other half: --batch for --micro-batch
  Field field{};
  std::string_view (*idle)(const Request&) =
      nullptr;           ///< why the option has no effect (ask/request/options/idle.hpp); null: always effective
  bool repeats = false;  ///< whether it may be repeated
  bool lists = false;    ///< whether a value may contain commas

  bool has_optional_value() const { return value.starts_with('['); }
  /// The option's key under `inputs`: "micro_batch"; "kv_cache" for --no-kv-cache.
  std::string key() const;
};

/// The row of an option whose values may contain commas.
constexpr Option listed(Option o) {
  o.lists = true;
  return o;
}

/// Options under one heading of the help and the manual.
struct Topic {
  std::string_view title;
  std::span<const Option> options;
};
std::span<const Topic> topics();

/// The options of all topics.
std::span<const Option> options();
/// The option with this flag; null if unknown.
const Option* find_option(std::string_view flag);

/// Reads an option's value into the request, as if it had been typed.
void give(Request& r, const Option& o, std::string_view text);

/// The values in effect of all options of the request's parts.
json::Value inputs_json(const Request& r);

/// The options that the user set, with their values in effect: " --precision fp8 --overlap 0.5". Each occurs once;
/// omits `besides` and options that only select the output style.
std::string given_text(const Request& r, std::initializer_list<std::string_view> besides);

}  // namespace llmcalc
