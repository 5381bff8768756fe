#pragma once
/// The options that describe a plan: one row each, with its flag, its key under `inputs`, what it takes, its default in
/// words, how it is read and what it is worth in the end.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/request.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Who understands an option.
enum Use : unsigned {
  for_training = 1,
  for_inference = 2,
  for_time = 4,
  for_run = 8,
  for_tables = 16,
  for_flops = 32,
  for_parts = 64
};

struct Option {
  std::string_view flag;   ///< "--micro-batch"
  std::string_view key;    ///< "micro_batch"
  std::string_view value;  ///< "N"; empty: a flag without a value
  unsigned uses;
  std::string_view help;  ///< a line, default included
  void (*read)(Request&, Given&, std::string_view text, std::string_view where);
  json::Value (*effective)(const Request&);  ///< null: absent
};

const std::vector<Option>& options();

/// Every option that this command uses and that has a value in the end.
json::Value inputs_json(const Request& r, unsigned uses);

}  // namespace llmcalc
