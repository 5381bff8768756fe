#include "learn/tokens/added_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "text/json_text.hpp"
#include "text/names.hpp"

namespace llmcalc::model {
namespace {

AddedToken added_token(const json::Object& o, bool normalizes) {
  AddedToken t{0, json::raw_text(o, "content"), o.flag_or("special", false)};
  const Count id = o.count("id");
  if (id > std::numeric_limits<std::int32_t>::max() || t.content.empty())
    throw InputError(fmt::format("{}: token {} is damaged", o.where(), in_quotes(t.content)));
  t.id = static_cast<std::int32_t>(id);
  for (const char* key : {"single_word", "lstrip", "rstrip"})
    if (o.flag_or(key, false))
      throw InputError(fmt::format("{}: {} of token {} is true, which is not supported", o.where(), in_quotes(key),
                                   in_quotes(t.content)));
  if (normalizes && o.flag_or("normalized", false))
    throw InputError(fmt::format("{}: token {} is matched in the normalized text, which is not supported", o.where(),
                                 in_quotes(t.content)));
  return t;
}

}  // namespace

AddedTokens::AddedTokens(const json::Object& file, bool normalizes) {
  const json::Value* list = file.find("added_tokens");
  if (list == nullptr) return;
  if (!list->is_array()) throw InputError(file.where() + ", \"added_tokens\": expected a list");
  for (const json::Value& v : *list)
    all_.push_back(added_token(json::Object(v, file.where() + ", \"added_tokens\""), normalizes));
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const std::string& content = all_[i].content;
    by_content_.emplace(content, i);
    std::vector<std::size_t>& lengths = lengths_[static_cast<unsigned char>(content[0])];
    if (std::find(lengths.begin(), lengths.end(), content.size()) == lengths.end()) lengths.push_back(content.size());
  }
  for (std::vector<std::size_t>& lengths : lengths_) std::sort(lengths.begin(), lengths.end(), std::greater<>());
}

std::optional<std::int32_t> AddedTokens::id(std::string_view content) const {
  const auto at = by_content_.find(content);
  return at == by_content_.end() ? std::nullopt : std::optional(all_[at->second].id);
}

const AddedToken* AddedTokens::longest_at(std::string_view text) const {
  for (const std::size_t n : lengths_[static_cast<unsigned char>(text[0])])
    if (n <= text.size())
      if (const auto at = by_content_.find(text.substr(0, n)); at != by_content_.end()) return &all_[at->second];
  return nullptr;
}

void AddedTokens::split(std::string_view text, const std::function<void(std::string_view)>& on_text,
                        const std::function<void(std::int32_t)>& on_token) const {
  std::size_t begin = 0;
  const auto end_text = [&](std::size_t end) {
    if (end > begin) on_text(text.substr(begin, end - begin));
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* t = longest_at(text.substr(at));
    if (t == nullptr) {
      ++at;
      continue;
    }
    end_text(at);
    on_token(t->id);
    begin = at += t->content.size();
  }
  end_text(text.size());
}

}  // namespace llmcalc::model
