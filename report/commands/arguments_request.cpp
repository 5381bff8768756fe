/// From arguments to a settled request.

#include <algorithm>

#include "ask/request/inputs.hpp"
#include "ask/request/options/ignored.hpp"
#include "ask/request/settle.hpp"
#include "report/commands/arguments.hpp"
#include "text/error.hpp"

namespace llmcalc {

void Arguments::apply(Request& r) const { apply(r, command_.parts); }

void Arguments::apply(Request& r, Parts parts) const {
  r.parts = parts;
  const bool may_list_defaults = json_ && !r.searches_layouts;
  std::optional<Request> typed = may_list_defaults ? settled_as_typed(r) : std::nullopt;
  if (typed) {
    r = *std::move(typed);
    return;
  }
  read_options(r, may_list_defaults ? chosen_inputs(r) : std::vector<bool>(given_.size(), true));
  settle(r);
  refuse_ignored(r);
}

/// The request with every input as typed. Absent if the inputs are those of an answer, which lists every value in
/// effect, or contain a default that no request may set.
std::optional<Request> Arguments::settled_as_typed(Request r) const {
  try {
    read_options(r, std::vector<bool>(given_.size(), true));
    settle(r);
    refuse_ignored(r);
  } catch (const InputError&) {
    return std::nullopt;
  }
  const auto is_listed = [&](const Option& o) {
    return !r.has(o.parts) || o.field.effective == nullptr || has(o.flag) ||
           std::find(off_.begin(), off_.end(), &o) != off_.end() || o.field.effective(r).is_null();
  };
  const std::span<const Option> all = options();
  return std::all_of(all.begin(), all.end(), is_listed) ? std::nullopt : std::optional(std::move(r));
}

Request Arguments::unsettled(std::span<const Option* const> besides) const {
  Request r;
  r.model = model();
  r.parts = command_.parts;
  std::vector<bool> chosen;
  for (const Given& g : given_) chosen.push_back(std::find(besides.begin(), besides.end(), g.option) == besides.end());
  read_options(r, chosen);
  return r;
}

void Arguments::read_options(Request& r, const std::vector<bool>& chosen) const {
  for (std::size_t i = 0; i < given_.size(); ++i)
    if (chosen[i] && given_[i].option->field.read != nullptr) read_option(r, given_[i]);
}

/// Marks the inputs to set explicitly; all other inputs follow from them as defaults. An answer lists every value in
/// effect, but a request made from it should set only the options that the original request chose. Marks all inputs if
/// they contradict each other.
std::vector<bool> Arguments::chosen_inputs(const Request& start) const {
  std::vector<bool> chosen(given_.size());
  const auto settled = [&]() -> std::optional<Request> {
    try {
      Request r = start;
      read_options(r, chosen);
      settle(r);
      return r;
    } catch (const InputError&) {
      return std::nullopt;
    }
  };
  const auto tells = [](const Given& g) {
    return g.option->field.effective != nullptr && g.option->flag != "--hardware";
  };
  const auto differs = [&](const Request& r, std::size_t i) {
    return !chosen[i] && given_[i].option->field.effective(r) != given_[i].said;
  };
  for (std::size_t i = 0; i < given_.size(); ++i) chosen[i] = !tells(given_[i]);
  std::optional<Request> now = settled();
  for (std::size_t i = 0; now && i < given_.size(); ++i) {
    if (!differs(*now, i)) continue;
    chosen[i] = true;
    std::optional<Request> with = settled();
    chosen[i] = with.has_value();
    if (!with) continue;  // the option may need one that comes later
    now = std::move(with);
    i = static_cast<std::size_t>(-1);
  }
  for (std::size_t i = 0; i < given_.size(); ++i)
    if (!now || differs(*now, i)) return std::vector<bool>(given_.size(), true);
  const json::Value inputs = inputs_json(*now);
  for (std::size_t i = given_.size(); i-- > 0;) {
    if (!chosen[i] || !tells(given_[i]) || given_[i].option->field.effective(*now).is_null()) continue;
    chosen[i] = false;
    const std::optional<Request> without = settled();
    chosen[i] = !without || inputs_json(*without) != inputs;
  }
  return chosen;
}

void Arguments::read_option(Request& r, const Given& g) const {
  if (hardware_ && g.option->flag == "--hardware") {
    r.hardware = *hardware_;
    r.given.emplace_back(g.option->flag);
  } else if (g.said.is_object()) {
    give(r, *g.option, *input_text(*g.option, present_components(g.said, r.model.arch), "\"inputs\""));
  } else {
    give(r, *g.option, g.text);
  }
}

}  // namespace llmcalc
