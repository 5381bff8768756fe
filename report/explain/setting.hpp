#pragma once
/// The setting of an explanation: a request and the report's answers to it.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ask/answer/inference.hpp"
#include "ask/answer/serving/server.hpp"
#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"
#include "calc/block/block.hpp"
#include "calc/infer.hpp"
#include "calc/textbook/sizes.hpp"
#include "calc/train.hpp"
#include "report/explain/expr.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {

/// Parts of a report. check() must accept the request for each selected part.
struct SettingParts {
  bool training = false, inference = false;
  bool terms = true;  ///< whether sums are written out; not needed in general formulas
};

class Setting {
 public:
  /// `request`: with its device at the achieved rates of the explained half.
  Setting(const Request& request, const SettingParts& parts);

  const Request& request() const { return training_.request(); }
  const TrainingAnswer& training() const { return training_; }
  const InferenceAnswer& inference() const { return inference_; }
  const ServingAnswer& serving() const { return serving_; }
  const Arch& arch() const { return request().model.arch; }
  const Plan& plan() const { return request().plan; }
  const Layout& layout() const { return request().layout; }
  bool tensor_parallel() const { return ranks(layout(), Group::tensor) > 1; }
  const Cluster& cluster() const { return request().hardware->cluster; }
  const Device& device() const { return request().hardware->cluster.device; }
  /// The model's sizes as symbols. rank_sizes(): the sizes on one tensor-parallel rank.
  const textbook::Sizes<Expr>& sizes() const { return sizes_; }
  const textbook::Sizes<Expr>& rank_sizes() const { return rank_sizes_; }
  /// The sizes of a training rank, including the vocabulary rows that its software adds as padding.
  const textbook::Sizes<Expr>& trained_sizes() const { return trained_sizes_; }
  /// The value of a symbol of sizes() or rank_sizes(); absent if there is no such symbol.
  std::optional<Count> letter(std::string_view name) const;
  const SettingParts& parts() const { return parts_; }

  /// A row of the report, or null. A section is computed when one of its rows is first requested.
  const Row* row(std::string_view path) const;
  /// The value of a row as in a formula, with every digit.
  std::string number(std::string_view path) const;

  const TrainEstimate& train() const { return training_.estimate(); }
  const InferEstimate& infer() const { return inference_.estimate(); }
  /// The simulated run for the rows of "serving" and "steady_state". Precondition: it exists.
  const WholeRun& run() const { return *serving_.run(); }
  bool estimated() const { return has_estimate(device(), plan()); }

  /// A quantity that has an explanation of its own, as a symbol.
  Expr quantity(const char* letter, std::string_view path) const;
  /// The symbols S and B in training.
  Expr seq() const { return {"S", plan().seq}; }
  Expr micro_batch() const { return {"B", plan().micro_batch}; }
  Expr tokens() const { return micro_batch() * seq(); }

 private:
  void keep(std::string_view section) const;

  TrainingAnswer training_;
  InferenceAnswer inference_;
  ServingAnswer serving_;
  SettingParts parts_;
  std::map<std::string, Count, std::less<>> letters_;
  textbook::Sizes<Expr> sizes_, rank_sizes_, trained_sizes_;
  mutable std::set<std::string, std::less<>> saved_;  ///< sections whose rows are in rows_
  mutable std::map<std::string, Row, std::less<>> rows_;
};

/// A number as formulas show it: with all digits, as "3.35e12", or as "0.9".
std::string number_text(Count n);
std::string number_text(double v);
std::string number_text(const Quantity& q);

}  // namespace llmcalc::explain
