#include "learn/tokens/json_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "learn/text_steps.hpp"
#include "learn/tokens/added_tokens.hpp"
#include "learn/tokens/token_model.hpp"
#include "text/json_text.hpp"
#include "text/names.hpp"
#include "text/utf8.hpp"

namespace llmcalc::model {
namespace {

class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(std::string text, const std::string& where) : file_text_(std::move(text)) {
    const json::Value value = json::parse(file_text_, where);
    const json::Object file(value, "'" + where + "'");
    steps_ = text_steps(file);
    added_ = AddedTokens(file, !steps_.normalizers.empty());
    model_ = token_model(file.object("model"), steps_.bytewise);
    for (const AddedToken& t : added_.all())
      model_.set_text(t.id,
                      t.special         ? ""
                      : steps_.bytewise ? bytes_of_letters(t.content)
                                        : spoken_token(t.content),
                      file.where());
    if (file.has("decoder")) read_decoder(file.object("decoder"));
    if (file.has("post_processor")) read_post_processor(file.object("post_processor"));
    model_.ids.clear();
  }

  Count vocabulary() const override { return static_cast<Count>(model_.texts.size()); }
  std::optional<std::int32_t> end_of_text() const override { return std::nullopt; }
  std::string_view name() const override { return json_tokenizer_name; }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    refuse_unless_utf8(text, "the text");
    std::vector<std::int32_t> all = before_;
    MatchSteps left(text.size());
    const auto append = [&](std::string_view stretch) {
      const std::string normalized = steps_.normalized(std::string(stretch));
      for (const std::string& piece : steps_.pieces(normalized, stretch.data() == text.data(), left)) {
        const std::vector<std::int32_t> tokens = model_.tokens(piece);
        all.insert(all.end(), tokens.begin(), tokens.end());
      }
    };
    added_.split(text, append, [&](std::int32_t token) { all.push_back(token); });
    all.insert(all.end(), after_.begin(), after_.end());
    return all;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t t : tokens) {
      if (t < 0) throw InputError(fmt::format("token {} is not in the tokenizer's vocabulary of {}", t, vocabulary()));
      if (static_cast<std::size_t>(t) < model_.texts.size()) text += model_.texts[static_cast<std::size_t>(t)];
    }
    const bool whole = !before_.empty() && tokens.size() >= before_.size() &&
                       std::equal(before_.begin(), before_.end(), tokens.begin());
    return whole && strips_ && text.starts_with(' ') ? text.substr(1) : text;
  }

 private:
  std::string body() const override { return file_text_; }

  /// The string that a Replace step searches for; empty if it is a regular expression.
  static std::string pattern_of(const json::Object& replace) {
    const json::Object pattern = replace.object("pattern");
    return pattern.has("String") ? json::raw_text(pattern, "String") : "";
  }

  /// Accepts the decoders that decode() implements: ByteLevel, or the sequence that turns U+2581 into spaces and byte
  /// tokens into bytes and strips the first space.
  void read_decoder(const json::Object& d) {
    const std::string type = d.text("type");
    if (type == "Sequence") return each_object(d, "decoders", [&](const json::Object& part) { read_decoder(part); });
    const bool spaces = type == "Replace" && spoken_token(pattern_of(d)) == " " && json::raw_text(d, "content") == " ";
    const bool strip =
        type == "Strip" && json::raw_text(d, "content") == " " && d.count("start") == 1 && d.count("stop") == 0;
    const bool metaspace = type == "Metaspace" && spoken_token(json::raw_text(d, "replacement")) == " ";
    strips_ = strips_ || strip || (metaspace && prepended(d) != Prepended::never);
    const bool of_characters = spaces || strip || metaspace || type == "ByteFallback" || type == "Fuse";
    if (steps_.bytewise ? type != "ByteLevel" : !of_characters)
      refuse_tokenizer(d.where(), fmt::format("unknown decoder {}", in_quotes(type)));
  }

  void read_post_processor(const json::Object& p) {
    const std::string type = p.text("type");
    if (type == "ByteLevel") return;  // ByteLevel only changes offsets, which are not used
    if (type == "Sequence")
      return each_object(p, "processors", [&](const json::Object& part) { read_post_processor(part); });
    if (type != "TemplateProcessing")
      refuse_tokenizer(p.where(), fmt::format("unknown post-processor {}", in_quotes(type)));
    read_template(p);
  }

  /// Reads the special tokens that the template adds before and after the text.
  void read_template(const json::Object& p) {
    std::vector<std::int32_t>* side = &before_;
    each_object(p, "single", [&](const json::Object& part) {
      if (part.has("Sequence")) {
        side = &after_;
        return;
      }
      const std::string token = json::raw_text(part.object("SpecialToken"), "id");
      for (const Count id : p.object("special_tokens").object(token).counts("ids")) {
        if (id >= vocabulary())
          refuse_tokenizer(p.where(), fmt::format("the template adds token {}, which is not in the vocabulary", id));
        side->push_back(static_cast<std::int32_t>(id));
      }
    });
  }

  std::string file_text_;
  TextSteps steps_;
  AddedTokens added_;
  TokenModel model_;
  bool strips_ = false;
  std::vector<std::int32_t> before_, after_;
};

}  // namespace

std::unique_ptr<Tokenizer> json_tokenizer(std::string text, const std::string& where) {
  return std::make_unique<JsonTokenizer>(std::move(text), where);
}

}  // namespace llmcalc::model
