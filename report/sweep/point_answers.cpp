#include "report/sweep/point_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ask/request/check/check.hpp"
#include "ask/request/options/ignored.hpp"
#include "ask/request/settle.hpp"
#include "presets/load.hpp"
#include "report/commands/serve.hpp"
#include "report/model/model_sections.hpp"
#include "report/render/render.hpp"
#include "report/train/stages.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// A silent runner that stops work when another runner stops.
class SilentRunner : public Runner {
 public:
  explicit SilentRunner(const Runner& outer) : outer_(outer) {}
  bool stopped() const override { return outer_.stopped(); }

 private:
  const Runner& outer_;
};

/// The row at a path. Its key is the path without the section's key: "needed_bytes" for "memory.process.needed_bytes"
/// in "memory.process". Null if there is no such row.
const Row* row_at(const Section& s, std::string_view path) {
  const std::string_view key = path.substr(std::min(path.size(), s.key.size() + 1));
  const auto row = std::find_if(s.rows.begin(), s.rows.end(), [&](const Row& r) { return r.key == key; });
  return s.key.empty() || row == s.rows.end() ? nullptr : &*row;
}

json::Value head_json(std::string_view part, const Request& r) {
  if (part == "model") return model_json(r.model);
  if (part == "inputs") return inputs_json(r);
  if (part == "hardware") return r.hardware ? hardware_json(*r.hardware) : json::Value();
  return r.has(part::training) ? layout_json(r) : json::Value();
}

json::Value head_value(std::string_view path, const Request& r) {
  const std::size_t dot = path.find('.');
  const json::Value part = head_json(path.substr(0, dot), r);
  const json::Value* value = dot == std::string_view::npos ? nullptr : value_at(part, path.substr(dot + 1));
  return value == nullptr ? json::Value() : *value;
}

json::Value input_value(const Option& o, const Request& r) {
  return r.has(o.parts) ? o.field.effective(r) : json::Value();
}

json::Value fit_value(std::string_view path, const std::optional<Fit>& fit) {
  if (!fit) return {};
  if (path == "verdict.fit") return name(fit->verdict);
  if (path == "verdict.fit_probability") return fit->probability;
  return fit->is_expected() ? json::Value() : json::Value(false);
}

}  // namespace

// ---- Requests

PointRequests::PointRequests(const SweepPoints& points) : points_(points) {
  for (std::size_t i = 0; i < points.axes.size() && !points.in_rows; ++i)
    if (points.axes[i].size() > 1) kept_ = i;
}

void PointRequests::read(Request& r, std::size_t axis, Count value) const {
  const SweepAxis& a = points_.axes[axis];
  if (a.option() == nullptr)
    r.model = load_model(a.text(value));
  else if (a.is_set(value))
    give(r, *a.option(), a.text(value));
}

Request PointRequests::start(std::size_t axis) const {
  if (axis > 0) return read_[axis - 1];
  if (points_.base) return *points_.base;
  Request r;
  r.parts = points_.command->parts;
  return r;
}

Request PointRequests::request(const std::vector<Count>& at) {
  std::size_t same = 0;
  while (same < read_.size() && values_[same] == at[same]) ++same;
  read_.resize(same), values_.resize(same);
  for (std::size_t i = same; i < kept_; ++i) {
    Request r = start(i);
    read(r, i, at[i]);
    read_.push_back(std::move(r)), values_.push_back(at[i]);
  }
  Request r = start(kept_);
  for (std::size_t i = kept_; i < at.size(); ++i) read(r, i, at[i]);
  settle(r);
  refuse_ignored(r);
  check(r);
  return r;
}

// ---- Answers

PointAnswers::PointAnswers(const SweepPoints& points, std::vector<Column> columns, const Runner& runner)
    : points_(points),
      columns_(std::move(columns)),
      runner_(runner),
      question_(find_question(points.command->name)),
      requests_(points) {}

std::optional<RowCells> PointAnswers::row(Count point) {
  const std::vector<Count> at = points_.at(point);
  RowCells cells;
  cells.reserve(points_.axes.size() + columns_.size() + 1);
  for (std::size_t i = 0; i < at.size(); ++i)
    if (points_.axes[i].swept()) cells.push_back(points_.axes[i].cell(at[i]));
  const std::size_t before = cells.size();
  json::Value error;
  try {
    add_values(cells, at);
  } catch (const InputError& e) {
    error = e.what();
  } catch (const Overflow&) {
    error = overflow_sentence;
  }
  if (stopped_) return std::nullopt;
  if (!error.is_null()) cells.resize(before);
  cells.resize(before + columns_.size());
  cells.push_back(std::move(error));
  return cells;
}

void PointAnswers::add_values(RowCells& cells, const std::vector<Count>& at) {
  Request r = requests_.request(at);
  whole_.reset();
  if (question_ == nullptr) {
    whole_ = serving_json(std::move(r));
    for (const Column& c : columns_) {
      const json::Value* value = value_at(*whole_, c.path);
      cells.push_back(value == nullptr ? json::Value() : *value);
    }
    return;
  }
  sections_.assign(question_->sections.size(), std::nullopt);
  const Answer answer(std::move(r));
  for (const Column& c : columns_) cells.push_back(value(c, answer));
}

json::Value PointAnswers::value(const Column& c, const Answer& answer) {
  switch (c.source) {
    case ColumnSource::sections:
      for (auto i = c.sections.rbegin(); i != c.sections.rend(); ++i)
        if (const Row* row = row_at(section(*i, answer), c.path)) return value_json(row->value);
      return {};
    case ColumnSource::input:
      return input_value(*c.input, answer.request());
    case ColumnSource::head:
      return head_value(c.path, answer.request());
    case ColumnSource::fit:
      return fit_value(c.path, fit_of(answer));
    case ColumnSource::whole:
      break;
  }
  const json::Value* value = value_at(whole(answer), c.path);
  return value == nullptr ? json::Value() : *value;
}

const Section& PointAnswers::section(std::size_t index, const Answer& answer) {
  std::optional<Section>& s = sections_[index];
  const SectionRow& row = question_->sections[index];
  if (!s) s = applies(row, answer.request()) ? row.section(answer) : Section{};
  return *s;
}

const json::Value& PointAnswers::whole(const Answer& answer) {
  if (!whole_) whole_ = report_json(llmcalc::answer(*question_, answer.request()));
  return *whole_;
}

json::Value PointAnswers::serving_json(Request r) {
  SilentRunner silent(runner_);
  const Output output = serve_answer(std::move(r), false, silent);
  stopped_ = stopped_ || output.stopped;
  return json_of(output);
}

json::Value PointAnswers::answer(Count point) {
  Request r = requests_.request(points_.at(point));
  return question_ == nullptr ? serving_json(std::move(r)) : report_json(llmcalc::answer(*question_, r));
}

json::Value first_answer(const SweepPoints& points, const Runner& runner) {
  constexpr Count most = 1000;
  PointAnswers answers(points, {}, runner);
  for (Count i = 0; i < std::min(most, points.size()) && !runner.stopped(); ++i) {
    try {
      return answers.answer(i);
    } catch (const InputError&) {
    } catch (const Overflow&) {
    }
  }
  return {};
}

std::vector<std::string> sweep_header(const SweepPoints& points, const std::vector<std::string>& columns) {
  std::vector<std::string> all;
  for (const SweepAxis& axis : points.axes)
    if (axis.swept()) all.push_back(axis.name());
  all.insert(all.end(), columns.begin(), columns.end());
  all.emplace_back("error");
  return all;
}

}  // namespace llmcalc
