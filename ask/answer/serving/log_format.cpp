#include "ask/answer/serving/log_format.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

constexpr LogFormat own_log{.names = {"arrival", "prompt", "generated", "session", "prefix", "priority", ""},
                            .published = false};
constexpr std::array published_logs{
    // Mooncake: Qin et al. 2025, FAST '25, and its repository, FAST25-release
    LogFormat{.names = {"timestamp", "input_length", "output_length", "", "", "", "hash_ids"},
              .time = LogFormat::Time::milliseconds},
    // Azure 2023 and 2024: github.com/Azure/AzurePublicDataset, AzureLLMInferenceDataset2023.md and 2024.md
    LogFormat{.names = {"TIMESTAMP", "ContextTokens", "GeneratedTokens", "", "", "", ""},
              .time = LogFormat::Time::dates},
    // BurstGPT: Wang et al. 2025, KDD '25, and github.com/HPMLL/BurstGPT
    LogFormat{.names = {"Timestamp", "Request tokens", "Response tokens", "", "", "", ""}},
};

bool has_name(const std::vector<std::string>& names, const LogFormat& format, LogField f) {
  return std::find(names.begin(), names.end(), format.name(f)) != names.end();
}

}  // namespace

std::size_t LogFormat::field(std::string_view name) const {
  if (name.empty()) return no_log_field;
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

const LogFormat& log_format(const std::vector<std::string>& names) {
  for (const LogField f : needed_log_fields)
    if (has_name(names, own_log, f)) return own_log;
  for (const LogFormat& format : published_logs)
    if (has_name(names, format, LogField::prompt)) return format;
  return own_log;
}

}  // namespace llmcalc
