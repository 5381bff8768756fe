#include "report/sweep/points.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "presets/load.hpp"
#include "report/question.hpp"
#include "text/decimal.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> all;
  while (true) {
    const std::size_t end = text.find(separator);
    all.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return all;
    text.remove_prefix(end + 1);
  }
}

/// Whether values are names, which remain text even if they consist of digits.
bool has_names(const Option* o) {
  if (o == nullptr) return true;
  constexpr std::array names{"HW", "NAME[@VERSION]", "CPU", "MODEL", "FILE"};
  return std::find(names.begin(), names.end(), o->value) != names.end();
}

/// The number that an option's text denotes: "8k" is 8000.
std::optional<json::Value> number_in(const std::string& text) {
  const Numeral n = numeral(text);
  if (n.problem != Misread::none) return std::nullopt;
  try {
    return json::Value(parse_count(text, ""));
  } catch (const InputError&) {
  }
  const auto value = n.rest.empty() ? real(n.value) : std::nullopt;
  return value ? std::optional(json::Value(*value)) : std::nullopt;
}

// ---- Checks of values

constexpr Count limit = 1'000'000'000;
/// Maximum length of an axis whose values are all checked before the sweep; on a longer axis, only the first and the
/// last value are checked.
constexpr Count checked = 1000;

/// Reads a value for a model as the command does. Throws InputError.
void try_value(const SweepPoints& points, const ModelCard& model, const SweepAxis& axis, Count index) {
  Request r;
  r.model = model;
  r.parts = points.command->parts;
  if (axis.is_set(index)) give(r, *axis.option(), axis.text(index));
}

/// The error message for a value that is invalid for every model; empty if any model accepts it.
std::string why_invalid(const SweepPoints& points, const std::vector<ModelCard>& models, const SweepAxis& axis,
                        Count i) {
  std::string why;
  for (const ModelCard& model : models) {
    try {
      try_value(points, model, axis, i);
      return "";
    } catch (const InputError& e) {
      why = e.what();
    }
  }
  return why;
}

void check_axis(const SweepPoints& points, const std::vector<ModelCard>& models, const SweepAxis& axis) {
  for (Count i = 0; i < axis.size(); ++i) {
    if (axis.size() > checked && i == 1) i = axis.size() - 1;
    std::string why = why_invalid(points, models, axis, i);
    if (why.empty()) continue;
    const bool joined = axis.option()->lists && !axis.swept() && axis.text(i).find(',') != std::string::npos;
    throw InputError(joined ? why + "; in a sweep, a semicolon separates the values of this option" : why);
  }
}

}  // namespace

SweepAxis::SweepAxis(const Option* option, std::string_view text) : option_(option) {
  const std::vector<std::string> items = split(text, option != nullptr && option->lists ? ';' : ',');
  swept_ = items.size() > 1;
  for (const std::string& item : items) {
    auto range = option == nullptr || has_names(option) ? std::nullopt : read_range(item, flag());
    swept_ = swept_ || range;
    size_ = add(size_, range ? range->size : 1);
    items_.push_back({.text = item, .range = range, .end = size_});
  }
}

SweepAxis::SweepAxis(const Option* option, std::vector<Given> values) : option_(option), swept_(true) {
  for (auto& [cell, text] : values) {
    items_.push_back({.text = text.value_or(""), .end = ++size_, .cell = std::move(cell), .is_set = text.has_value()});
  }
}

const SweepAxis::Item& SweepAxis::item(Count index) const {
  return *std::upper_bound(items_.begin(), items_.end(), index, [](Count at, const Item& i) { return at < i.end; });
}

bool SweepAxis::is_set(Count index) const { return item(index).is_set; }

std::string SweepAxis::text(Count index) const {
  const Item& i = item(index);
  return i.range ? i.range->text(index - (i.end - i.range->size)) : i.text;
}

json::Value SweepAxis::cell(Count index) const {
  if (const auto& given = item(index).cell) return *given;
  std::string text = this->text(index);
  const auto number = has_names(option_) ? std::nullopt : number_in(text);
  return number ? *number : json::Value(std::move(text));
}

Count SweepPoints::size() const {
  if (in_rows) return axes.empty() ? 0 : axes[0].size();
  Int128 n = 1;
  for (const SweepAxis& axis : axes) {
    n *= static_cast<Int128>(axis.size());
    if (n > Int128{1} << 100U) break;
  }
  if (n <= limit) return static_cast<Count>(n);
  throw InputError(fmt::format("the sweep has {} points, more than 10^9; shorten the lists, or split the sweep",
                               n > Int128{1} << 100U ? "over 10^30" : exact_text(Flops{n})));
}

std::vector<Count> SweepPoints::at(Count point) const {
  if (in_rows) return std::vector<Count>(axes.size(), point);
  std::vector<Count> all(axes.size());
  for (std::size_t i = axes.size(); i-- > 0; point /= axes[i].size()) all[i] = point % axes[i].size();
  return all;
}

void check_values(const SweepPoints& points) {
  std::vector<ModelCard> models;
  if (points.base) models.push_back(points.base->model);
  for (const SweepAxis& axis : points.axes)
    for (Count i = 0; axis.option() == nullptr && i < std::min(axis.size(), checked); ++i)
      models.push_back(load_model(axis.text(i)));
  for (const SweepAxis& axis : points.axes)
    if (axis.option() != nullptr) check_axis(points, models, axis);
}

// ---- Options

void check_swept_option(const Command& command, const Option& o) {
  constexpr std::array without_rows{"--require-fit", "--stages", "--ops", "--emit"};
  if (std::find(without_rows.begin(), without_rows.end(), o.flag) != without_rows.end())
    throw InputError(fmt::format("{} has no effect on the rows of a sweep; omit it", o.flag));
  if ((o.parts & command.parts) == 0)
    throw InputError(fmt::format("{} is not an option of '{}'; '{} --help-all' lists all options", o.flag,
                                 invocation(command), invocation(command)));
}

void check_hardware_given(const Arguments& arguments, const Command& command) {
  const Question* question = find_question(command.name);
  if (arguments.has("--hardware") || (question != nullptr && !question->needs_hardware)) return;
  throw InputError(
      fmt::format("'llmcalc {}' needs --hardware HW; 'llmcalc list hardware' lists the presets", command.name));
}

const Command& swept_command(const std::string& name, std::string_view where) {
  const std::vector<std::string> known = swept_commands();
  if (std::find(known.begin(), known.end(), name) != known.end()) return *answered_command(name);
  throw InputError(fmt::format("{}: expected {}, got {}{}", where, one_of(fmt::format("{}", fmt::join(known, "|"))),
                               in_quotes(name), suggestion(name, known)));
}

std::vector<std::string> swept_commands() { return {"params", "memory", "flops", "train", "infer", "report", "serve"}; }

SweepPoints read_points(const Arguments& arguments) {
  SweepPoints points{.command = &swept_command(arguments.word("COMMAND"), "'llmcalc sweep'"), .axes = {}};
  points.axes.emplace_back(nullptr, arguments.word("MODEL"));
  for (const auto& [option, text] : arguments.options_given()) {
    if (option->parts == 0 || (option->parts & part::files) != 0) continue;  // options of sweep itself
    check_swept_option(*points.command, *option);
    points.axes.emplace_back(option, option->value.empty() ? "" : text);
  }
  check_hardware_given(arguments, *points.command);
  points.size();
  check_values(points);
  return points;
}

}  // namespace llmcalc
