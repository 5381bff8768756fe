#pragma once
/// The resources: presets and JSON Schemas, as llmcalc://KIND/NAME.

#include <string>
#include <string_view>
#include <vector>

#include "text/json.hpp"

namespace llmcalc::mcp {

/// A page of all resources, from the position in `cursor` on, with "nextCursor" if there are more. Throws ProtocolError
/// for a cursor that no page returned.
json::Value resources_page(const std::string& cursor);

/// URI templates, one per kind.
json::Value resource_templates();

/// The contents of a resource. A preset may be named by an alias, and software with a version
/// (llmcalc://software/vllm@0.19). Throws ProtocolError.
json::Value resource_contents(const std::string& uri);

/// Names that complete the argument of a template, those that begin with `typed` first. Throws ProtocolError for an
/// unknown template.
std::vector<std::string> resource_names(const std::string& uri_template, std::string_view typed);

}  // namespace llmcalc::mcp
