#pragma once
/// Matches the settings of a launch with the rows of its stack's table.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/request/launch/pattern.hpp"
#include "presets/stack/launch.hpp"

namespace llmcalc {

/// The name with underscores replaced by dashes: "tensor_parallel_size" gives "tensor-parallel-size".
std::string dashed_setting(std::string_view name);
bool same_setting(std::string_view a, std::string_view b);
bool is_any_setting(const std::vector<std::string>& all, std::string_view name);

/// Matches the settings of one launch text. Each setting is used once. `settings` must outlive the matcher.
class LaunchMatcher {
 public:
  explicit LaunchMatcher(const LaunchSettings& settings) : settings_(settings), used_(settings.size()) {}

  /// The value that the settings give to the row's input, if any.
  std::optional<std::string> read(const LaunchRow& row);
  /// Marks the settings of a row as used.
  void mark(const LaunchRow& row);
  /// Throws InputError if a setting of this row remains unused.
  void refuse_unused(const LaunchRow& row) const;

 private:
  struct Best {
    const LaunchCase* found = nullptr;
    std::vector<std::size_t> places{};
    Gaps gaps{};
  };
  std::optional<std::string> read_plain(const LaunchRow& row);
  std::optional<std::size_t> place(const LaunchRow& row, const LaunchSetting& wanted, Gaps& gaps) const;
  Best best_way(const LaunchRow& row) const;

  const LaunchSettings& settings_;
  std::vector<bool> used_;
};

}  // namespace llmcalc
