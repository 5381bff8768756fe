#include "evidence/convert/convert.hpp"

#include <fmt/format.h>

#include "evidence/convert/inference/inference_conversion.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/old_check.hpp"
#include "evidence/convert/old_file.hpp"
#include "evidence/convert/run_conversion.hpp"
#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/rows/inference_measurement.hpp"
#include "evidence/rows/measured_request.hpp"
#include "evidence/rows/serving_measurement.hpp"
#include "evidence/rows/training_measurement.hpp"
#include "presets/formats/held_formats.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// The keys that the source stated: all keys of a row except keys that only the new schema has.
json::Value stated_by(json::Value row) {
  for (const char* key : {"id", "family", "source", "quality"}) row.erase(key);
  return row;
}

/// Weight formats for comparison. Components that the model lacks get the format of its first component, which makes
/// equal formats compare equal.
WeightFormats formats_of_model(WeightFormats w, const Arch& arch) {
  const ComponentBytes numbers = component_numbers(arch);
  std::optional<DType> first;
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto component = static_cast<Component>(i);
    if (numbers[component] > Bytes() && !first) first = w[component];
  }
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto component = static_cast<Component>(i);
    if (numbers[component] == Bytes()) w[component] = *first;
  }
  return w;
}

/// The plan, with defaults for members that training does not read.
Plan trained_by(Plan p, const Arch& arch) {
  const Plan usual;
  p.batch = usual.batch, p.prompt = usual.prompt, p.generate = usual.generate;
  p.weight_precision = WeightFormats(training_weights(p));
  p.base_precision = trains_adapters(p) ? formats_of_model(p.base_precision, arch) : usual.base_precision;
  return p;
}

/// First part in which two cases differ: the original `a`, and `b` read back from its request. Empty if they are equal.
std::string lost(const TrainingCase& a, const TrainingCase& b) {
  if (!(a.arch == b.arch)) return "the model";
  if (!(trained_by(a.plan, a.arch) == trained_by(b.plan, b.arch))) return "the plan";
  if (!(canonical(a.layout) == b.layout)) return "the layout";
  return a.recomputed == b.recomputed ? "" : "recomputation";
}

/// The plan, with defaults for members that inference does not read.
Plan served_by(Plan p, const Arch& arch) {
  const Plan usual;
  p.seq = usual.seq, p.micro_batch = usual.micro_batch, p.global_batch = usual.global_batch;
  p.state_precision = usual.state_precision, p.base_precision = usual.base_precision;
  p.weight_precision = formats_of_model(p.weight_precision, arch);
  return p;
}

std::string lost(const InferenceCase& a, const InferenceCase& b) {
  if (!(a.arch == b.arch)) return "the model";
  if (!(served_by(a.plan, a.arch) == served_by(b.plan, b.arch))) return "the plan";
  std::optional<PromptPool> pool = a.prompt_pool;
  if (pool) pool->layout = canonical(pool->layout);
  if (!(canonical(a.layout) == b.layout) || pool != b.prompt_pool) return "the layout";
  const bool same_load = a.batch == b.batch && a.prompt == b.prompt && a.generate == b.generate && a.kind == b.kind;
  return same_load && a.limits == b.limits && a.granted == b.granted ? "" : "the load";
}

TrainingCase read_back(const TrainingCase& c, const json::Value& row) {
  return read_training_measurement(json::Object(row, c.head.where), c.head.where);
}
InferenceCase read_back(const InferenceCase& c, const json::Value& row) {
  return read_inference_measurement(json::Object(row, c.head.where), c.head.where);
}

template <typename Case, typename Write>
std::string lost_in(const Case& c, const json::Value& stated, const Write& write) {
  try {
    const json::Value row = write(c, stated);
    return lost(c, read_back(c, row));
  } catch (const InputError& e) {
    return e.what();
  }
}

class Converter {
 public:
  Converter(const json::Value& whole, const OldFile& old) : whole_(whole), old_(old) {}

  Converted all() {
    for (std::size_t i = 0; i < old_.training.size(); ++i) add(old_.training[i], whole_[i]);
    for (std::size_t i = 0; i < old_.inference.size(); ++i) add(old_.inference[i], whole_[i]);
    if (!old_.serving.empty()) add(old_.serving[0]);
    out_.unknown_keys = old_.unknown_keys;
    return std::move(out_);
  }

 private:
  static const Devices& devices() {
    static const Devices all;
    return all;
  }

  void add(const RecordedRun& run) {
    const RunCase c = run_case(run, devices());
    json::Value stated = stated_by(whole_);
    for (const char* key : {"requests", "per_second", "name"}) stated.erase(key);
    if (!c.skip.empty()) out_.unconverted.push_back({c.head.id, c.skip});
    out_.rows.push_back(serving_measurement_json(c, stated));
  }

  void add(const InferenceRow& row, const json::Value& value) {
    keep(row, inference_case(row, devices()), stated_by(value), inference_measurement_json);
  }

  void add(const TrainingRow& row, const json::Value& value) {
    keep(row, training_case(row, devices()), stated_by(value), training_measurement_json);
  }

  /// Stores a row. Omits its request if reading the request back does not restore the case.
  template <typename Row, typename Case, typename Write>
  void keep(const Row& row, Case c, const json::Value& stated, const Write& write) {
    if (c.skip.empty()) {
      const std::string incomplete = drop_incomplete(row, c);
      const std::string part = c.skip.empty() ? lost_in(c, stated, write) : "";
      if (!part.empty()) c.skip = fmt::format("this row cannot be expressed as a request: {}", part);
      if (c.skip.empty() && !incomplete.empty()) out_.unconverted.push_back({c.head.id, incomplete});
    }
    if (!c.skip.empty()) out_.unconverted.push_back({c.head.id, c.skip});
    out_.rows.push_back(write(c, stated));
  }

  const json::Value& whole_;
  const OldFile& old_;
  Converted out_;
};

/// Rejects a converted file, which has one row per line.
void refuse_new(std::string_view text, const std::string& where) {
  const json::Value row = json::Value::parse(text.substr(0, text.find('\n')), nullptr, false);
  if (row.is_object() && row.contains("command"))
    throw InputError(where +
                     ": its rows have a \"command\", so it already has the current schema and needs no conversion");
}

}  // namespace

Converted convert(std::string_view text, const std::string& where) {
  refuse_new(text, where);
  const json::Value whole = json::parse(text, where);
  return Converter(whole, read_old_file(text, where)).all();
}

}  // namespace llmcalc
