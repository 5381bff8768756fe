#pragma once
/// Versions of a software file. A name may end with a version: "vllm@0.19", "megatron-lm@24.07", "vllm@2026-03".
///
/// "versions": [{ "version", "released"?, "source", ... }], oldest first. An entry states its differences from the
/// previous entry, and the first entry its differences from the file. Objects are merged key by key, and null removes
/// a key.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

struct SoftwareVersion {
  std::string name;      ///< version number: "0.19", "b4500"
  std::string released;  ///< release date: "2026-03-28"; empty: unknown
};

/// A name, and the version after its last '@'; absent if the name has no '@'.
struct VersionedName {
  std::string_view name;
  std::optional<std::string_view> version;
};
VersionedName versioned(std::string_view text);

/// Orders versions by their numbers: "0.9" < "0.10" = "0.10.0", "b4500" < "b6000".
bool is_older(std::string_view a, std::string_view b);

/// A software file at one version: its JSON without "versions".
struct SoftwareAtVersion {
  json::Value value;
  SoftwareVersion version;                ///< the chosen version; its name is empty if the file has no versions
  std::vector<SoftwareVersion> versions;  ///< all versions, oldest first
};

/// The newest entry that is not newer than `wanted`, compared by number, or by release date if `wanted` is a date
/// (2026, 2026-03, 2026-03-28). Without `wanted`, the newest entry. Throws InputError if `wanted` precedes the first
/// entry or is not a version, or if the file's versions are not in increasing order.
SoftwareAtVersion at_version(const json::Value& file, std::optional<std::string_view> wanted, const std::string& where);

}  // namespace llmcalc
