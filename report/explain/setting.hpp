#pragma once
/// What is explained: a request, and the report's own answers to it.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/block.hpp"
#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "report/report.hpp"
#include "report/request.hpp"

namespace llmcalc::explain {

/// Parts of a report. Each needs a request that check() accepts for it.
struct Parts {
  bool training = false, inference = false;
};

/// How many layers are of which kind.
struct LayerCounts {
  Count full = 0, windowed = 0, linear = 0;  ///< attention: add up to all layers
  Count dense = 0, experts = 0;              ///< MLP: add up to all layers
};

class Setting {
 public:
  Setting(const Request& request, const Parts& parts);

  const Request& request() const { return request_; }
  const Arch& arch() const { return request_.model.arch; }
  const Plan& plan() const { return request_.plan; }
  const Layout& layout() const { return request_.layout; }
  bool tensor_parallel() const { return ranks(layout(), Group::tensor) > 1; }
  const Cluster& cluster() const { return request_.hardware->cluster; }
  const Device& device() const { return request_.hardware->cluster.device; }
  const LayerCounts& layers() const { return layers_; }
  const Parts& parts() const { return parts_; }

  /// A row of the report, or null.
  const Row* row(std::string_view path) const;
  /// Its value as a formula has it: every digit.
  std::string number(std::string_view path) const;

  const TrainEstimate& train() const { return *train_; }
  const InferEstimate& infer() const { return *infer_; }
  bool estimated() const { return has_estimate(device(), plan()); }

  bool latent() const { return arch().attention == AttentionKind::latent; }
  bool gated() const { return arch().mlp == MlpKind::gated; }
  /// "L" where all layers are meant, else the symbol of those that are; empty where there are none.
  std::string layers(std::string_view symbol) const;
  /// Those with softmax attention: all, or those that are not linear; empty where there are none.
  std::string softmax_layers() const;
  /// A width over the ranks: "F", "F/T" or "ceil(F/T)".
  std::string cut(const std::string& width, Count value) const;
  std::string mine(const std::string& width, Count value, bool per_rank) const {
    return per_rank ? cut(width, value) : width;
  }
  /// "D_e" where the token table has a width of its own, else "D".
  std::string table_width() const { return arch().embedding_width == arch().hidden ? "D" : "D_e"; }

 private:
  void keep(const Section& s);

  const Request& request_;
  Parts parts_;
  LayerCounts layers_;
  std::map<std::string, Row, std::less<>> rows_;
  std::optional<TrainEstimate> train_;
  std::optional<InferEstimate> infer_;
};

/// Numbers as formulas have them: all digits, "3.35e12", "0.9".
std::string number_text(Count n);
std::string number_text(double v);
std::string number_text(const Quantity& q);

}  // namespace llmcalc::explain
