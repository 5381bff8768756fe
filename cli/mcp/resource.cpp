#include "cli/mcp/resource.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/command.hpp"
#include "cli/mcp/message.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/ask.hpp"
#include "report/render/render.hpp"
#include "report/schema/named_schema.hpp"
#include "text/error.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc::mcp {
namespace {

using json::Value;

constexpr std::string_view scheme = "llmcalc://";
constexpr std::size_t page_size = 100;

/// A resource's name, and the title under which clients show it.
struct Entry {
  std::string name, title;
};

/// Names of one kind, and the text of one of them. `text` throws InputError for an unknown name.
struct Kind {
  std::string_view name, title, description;
  std::vector<Entry> (*entries)();
  std::string (*text)(const std::string& name);
};

std::vector<Entry> entries_of(std::span<const Builtin> presets) {
  std::vector<Entry> all;
  for (const Builtin& b : presets) all.push_back({std::string(b.name), std::string(b.title)});
  return all;
}

std::vector<Entry> schema_entries() {
  std::vector<Entry> all;
  for (const std::string& name : schema_names(commands())) all.push_back({name, fmt::format("schema of {}", name)});
  return all;
}

/// The preset's file, as 'llmcalc show' prints it.
std::string preset_text(std::span<const Builtin> presets, const std::string& name) {
  if (find_meant(presets, versioned(name).name) == nullptr) throw InputError("unknown preset");
  Runner serial;
  const Value request{{"command", "show"}, {"inputs", {{"name", name}}}};
  return text_of(answer_request(request, serial).output, {.style = Style::json});
}

template <std::span<const Builtin> (*presets)()>
constexpr Kind preset_kind(std::string_view name, std::string_view title, std::string_view description) {
  return {name, title, description, [] { return entries_of(presets()); },
          [](const std::string& one) { return preset_text(presets(), one); }};
}

constexpr std::array kinds{
    preset_kind<builtin_models>("models", "model", "architecture, number formats and published parameters of a model"),
    preset_kind<builtin_hardware>("hardware", "hardware", "datasheet of a device: memory, peaks, links, power, prices"),
    preset_kind<builtin_software>("software", "software", "a training stack or inference engine: kernels, features"),
    Kind{"schemas", "JSON Schema", "JSON Schema of an answer, of requests or of a kind of file", schema_entries,
         [](const std::string& name) { return dump(named_schema(name, commands())); }}};

std::string uri_of(const Kind& kind, std::string_view name) { return fmt::format("{}{}/{}", scheme, kind.name, name); }

/// All resources, in the order of their kinds.
const Value& all_resources() {
  static const Value all = [] {
    Value list = Value::array();
    for (const Kind& k : kinds)
      for (const Entry& e : k.entries())
        list.push_back({{"uri", uri_of(k, e.name)},
                        {"name", e.name},
                        {"title", e.title},
                        {"description", k.description},
                        {"mimeType", "application/json"}});
    return list;
  }();
  return all;
}

/// The text with %40 and the like replaced by their characters.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16).ptr == text.data() + i + 3;
    out += escape ? static_cast<char>(code) : text[i];
    i += escape ? 2 : 0;
  }
  return out;
}

[[noreturn]] void refuse_uri(const std::string& uri) {
  throw ProtocolError(Code::no_resource,
                      fmt::format("{} is not a resource; 'resources/list' lists all", in_quotes(uri)), {},
                      {{"uri", uri}});
}

}  // namespace

Value resources_page(const std::string& cursor) {
  const Value& all = all_resources();
  const std::size_t from = cursor.empty() ? 0 : static_cast<std::size_t>(leading_whole(cursor));
  if (!cursor.empty() &&
      (from == 0 || from >= all.size() || from % page_size != 0 || fmt::format("{}", from) != cursor))
    throw ProtocolError(Code::invalid_params, "\"cursor\": expected the \"nextCursor\" of a page");
  const std::size_t end = std::min(from + page_size, all.size());
  Value page{{"resources", Value::array()}};
  for (std::size_t i = from; i < end; ++i) page["resources"].push_back(all[i]);
  if (end < all.size()) page["nextCursor"] = fmt::format("{}", end);
  return page;
}

Value resource_templates() {
  Value all = Value::array();
  for (const Kind& k : kinds)
    all.push_back({{"uriTemplate", uri_of(k, "{name}")},
                   {"name", k.name},
                   {"title", k.title},
                   {"description", k.description},
                   {"mimeType", "application/json"}});
  return {{"resourceTemplates", all}};
}

Value resource_contents(const std::string& uri) {
  const std::string said = decoded(uri);
  for (const Kind& k : kinds) {
    const std::string begin = uri_of(k, "");
    if (!said.starts_with(begin)) continue;
    try {
      const std::string text = k.text(said.substr(begin.size()));
      return {{"contents", {{{"uri", uri}, {"mimeType", "application/json"}, {"text", text}}}}};
    } catch (const InputError&) {
      break;
    }
  }
  refuse_uri(uri);
}

std::vector<std::string> resource_names(const std::string& uri_template, std::string_view typed) {
  const auto* const kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return uri_of(k, "{name}") == uri_template; });
  if (kind == kinds.end())
    throw ProtocolError(Code::invalid_params, fmt::format("{} is not a resource template", in_quotes(uri_template)));
  const std::string part = lower(typed);
  std::vector<std::string> all;
  for (const Entry& e : kind->entries())
    if (e.name.find(part) != std::string::npos) all.push_back(e.name);
  std::stable_partition(all.begin(), all.end(), [&](const std::string& name) { return name.starts_with(part); });
  return all;
}

}  // namespace llmcalc::mcp
