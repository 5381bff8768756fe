#pragma once
/// Samples in Prometheus's text format, as servers show them under /metrics
/// (prometheus.io/docs/instrumenting/exposition_formats).

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace llmcalc {

class Exposition {
 public:
  /// Reads a text; `where` names it in errors. Throws InputError, with the line, if the text has another format.
  Exposition(std::string_view text, const std::string& where);

  /// The sum of a metric's finite values over all labels; absent without such a value. Buckets are not stored.
  std::optional<double> value(std::string_view name) const;
  /// Whether the name of a metric begins with `prefix`.
  bool has(std::string_view prefix) const;
  /// Values of the label model_name.
  const std::set<std::string>& models() const { return models_; }

 private:
  bool read_sample(std::string_view line);

  std::map<std::string, double, std::less<>> values_;
  std::set<std::string> models_;
};

}  // namespace llmcalc
