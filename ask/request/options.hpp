#pragma once
/// The one table of options that describe a plan, a run and what is printed. Parsing, help, the manual, completions,
/// the keys under `inputs` and what is refused all follow from a row.

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "ask/request/request.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Reader of an option's value into a request, and the value finally in effect (null: not in the report).
struct Field {
  void (*read)(Request&, std::string_view text, std::string_view where) = nullptr;
  json::Value (*effective)(const Request&) = nullptr;
};

struct Option {
  std::string_view flag;       ///< "--micro-batch"
  std::string_view value{};    ///< "N", "op|step"; empty: a flag without a value
  std::string_view help{};     ///< a line, default in brackets
  bool common = false;         ///< --help shows it; --help-all shows the others too
  Parts parts = 0;             ///< of what it changes something
  std::string_view needs{};    ///< the option without which it changes nothing
  std::string_view instead{};  ///< the option of the other half: --batch of --micro-batch
  Field field{};
  std::string_view (*idle)(const Request&) =
      nullptr;  ///< why it has no effect (ask/request/idle.hpp); null: it always has

  /// Its key under `inputs`: "micro_batch"; "kv_cache" of --no-kv-cache.
  std::string key() const;
};

/// Options that help and manual list under one heading.
struct Topic {
  std::string_view title;
  std::span<const Option> options;
};
std::span<const Topic> topics();

/// The options of all topics.
std::span<const Option> options();
/// The option with that flag; null if there is none.
const Option* find_option(std::string_view flag);

/// Reads an option's value into the request, as if it had been typed.
void give(Request& r, const Option& o, std::string_view text);

/// Every option of the request's parts that has a value in the end.
json::Value inputs_json(const Request& r);

/// " --precision fp8 --overlap 0.5": the options that were given as they are in effect, each once, `besides` these and
/// those that select how an answer is printed.
std::string given_text(const Request& r, std::initializer_list<std::string_view> besides);

}  // namespace llmcalc
