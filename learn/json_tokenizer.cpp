#include "learn/json_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "learn/added_tokens.hpp"
#include "learn/pair_merges.hpp"
#include "learn/text_steps.hpp"
#include "text/names.hpp"
#include "text/utf8.hpp"

namespace llmcalc::model {
namespace {

/// The character that stands for a space in a vocabulary of characters (U+2581).
constexpr std::string_view low_line = "\xE2\x96\x81";
constexpr std::int32_t no_token = -1;

/// The name of a byte's token below a vocabulary of characters.
std::string byte_token(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(std::string text, const std::string& where) : text_(std::move(text)), where_(where) {
    const json::Value value = json::parse(text_, where);
    const json::Object file(value, where);
    steps_ = text_steps(file);
    added_ = AddedTokens(file, !steps_.normalizers.empty());
    read_model(file.object("model"));
    read_added();
    if (file.has("decoder")) read_decoder(file.object("decoder"));
    if (file.has("post_processor")) read_post_processor(file.object("post_processor"));
    tokens_.clear();
  }

  Count vocabulary() const override { return static_cast<Count>(texts_.size()); }
  std::optional<std::int32_t> end_of_text() const override { return std::nullopt; }
  std::string_view name() const override { return json_tokenizer_name; }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    refuse_unless_utf8(text, "the text");
    std::vector<std::int32_t> all = before_;
    added_.split(
        text, [&](std::string_view stretch) { append(std::string(stretch), all); },
        [&](std::int32_t token) { all.push_back(token); });
    all.insert(all.end(), after_.begin(), after_.end());
    return all;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t t : tokens) {
      if (t < 0) throw InputError(fmt::format("token {} is not in the tokenizer's vocabulary of {}", t, vocabulary()));
      if (static_cast<std::size_t>(t) < texts_.size()) text += texts_[static_cast<std::size_t>(t)];
    }
    const bool whole = !before_.empty() && tokens.size() >= before_.size() &&
                       std::equal(before_.begin(), before_.end(), tokens.begin());
    return whole && strips_ && text.starts_with(' ') ? text.substr(1) : text;
  }

 private:
  using Ids = std::unordered_map<std::string, std::int32_t>;

  std::string body() const override { return text_; }

  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(fmt::format("'{}': {}; this tokenizer is not read", where_, what));
  }

  // ---- reading

  void read_model(const json::Object& m) {
    const std::string type = m.text_or("type", "BPE");
    if (type != "BPE") refuse(fmt::format("its model is {}, and only BPE is known", in_quotes(type)));
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!m.text_or(key, "").empty()) refuse(in_quotes(key) + " is set");
    if (m.number_or("dropout", 0) != 0) refuse("\"dropout\" is set");
    whole_words_ = m.flag_or("ignore_merges", false);
    fuse_unknown_ = m.flag_or("fuse_unk", false);
    read_vocabulary(m.object("vocab"));
    read_merges(m);
    if (m.has("unk_token")) unknown_ = token_named(m.text("unk_token"));
    steps_.bytewise ? need_bytes(m) : find_bytes(m.flag_or("byte_fallback", false));
  }

  void set_text(Count id, std::string text) {
    constexpr Count most = Count{1} << 24;
    if (id >= most) refuse(fmt::format("a token has the number {}, past {}", id, most));
    if (static_cast<std::size_t>(id) >= texts_.size()) texts_.resize(static_cast<std::size_t>(id) + 1);
    texts_[static_cast<std::size_t>(id)] = std::move(text);
  }

  void read_vocabulary(const json::Object& vocabulary) {
    const auto& entries = vocabulary.value().get_ref<const json::Value::object_t&>();
    for (const auto& [token, id] : entries) {
      if (!id.is_number_unsigned()) refuse(fmt::format("token {} has no whole number", in_quotes(token)));
      const Count n = id.get<std::uint64_t>() > 0xffffffffU ? Count{0xffffffffU} : id.get<Count>();
      set_text(n, steps_.bytewise ? bytes_of_letters(token) : spoken(token));
      tokens_.emplace(token, static_cast<std::int32_t>(n));
      symbols_.emplace(steps_.bytewise ? bytes_of_letters(token) : token, static_cast<std::int32_t>(n));
    }
  }

  /// The text of a token among characters.
  static std::string spoken(const std::string& token) {
    std::string text;
    for (std::size_t at = 0; at < token.size();) {
      const bool space = std::string_view(token).substr(at).starts_with(low_line);
      text += space ? ' ' : token[at];
      at += space ? low_line.size() : 1;
    }
    return text;
  }

  std::int32_t token_named(const std::string& token) const {
    const auto at = tokens_.find(token);
    if (at == tokens_.end()) refuse(fmt::format("token {} is not in its vocabulary", in_quotes(token)));
    return at->second;
  }

  /// "left right", or a list of the two.
  void read_merges(const json::Object& m) {
    const json::Value* list = m.find("merges");
    if (list == nullptr || !list->is_array()) refuse("\"merges\" is no list");
    for (const json::Value& v : *list) {
      std::string left, right;
      if (v.is_string()) {
        const std::string& both = v.get_ref<const std::string&>();
        const std::size_t space = both.find(' ');
        if (space == std::string::npos) refuse(fmt::format("the merge {} is no pair", in_quotes(both)));
        left = both.substr(0, space), right = both.substr(space + 1);
      } else if (v.is_array() && v.size() == 2 && v[0].is_string() && v[1].is_string()) {
        left = v[0].get<std::string>(), right = v[1].get<std::string>();
      } else {
        refuse("a merge is no pair of strings");
      }
      const std::int32_t first = token_named(left), second = token_named(right);
      merges_.add(first, second, token_named(left + right));
    }
  }

  /// Bytes are the symbols: every one must be there.
  void need_bytes(const json::Object& m) {
    if (m.flag_or("byte_fallback", false)) refuse("\"byte_fallback\" is true of a model of bytes");
    for (std::size_t b = 0; b < bytes_.size(); ++b) {
      const auto at = symbols_.find(std::string(1, static_cast<char>(static_cast<unsigned char>(b))));
      if (at == symbols_.end()) refuse(fmt::format("it has no token for byte {:#04x}", b));
      bytes_[b] = at->second;
    }
  }

  /// Characters are the symbols; one that is not there becomes its bytes, or the unknown token.
  void find_bytes(bool fall_back) {
    bytes_.fill(no_token);
    for (std::size_t b = 0; fall_back && b < bytes_.size(); ++b) {
      bytes_[b] = token_named(byte_token(static_cast<unsigned char>(b)));
      set_text(bytes_[b], std::string(1, static_cast<char>(static_cast<unsigned char>(b))));
    }
    if (!fall_back && unknown_ == no_token) refuse("it has a token neither for bytes nor for what is unknown");
  }

  void read_added() {
    for (const AddedToken& t : added_.all()) {
      set_text(t.id, t.special ? "" : steps_.bytewise ? bytes_of_letters(t.content) : spoken(t.content));
      tokens_.insert_or_assign(t.content, t.id);
    }
  }

  /// What decode() does anyway: ByteLevel, or low lines to spaces, bytes to bytes, and the first space stripped.
  void read_decoder(const json::Object& d) {
    const std::string type = d.text("type");
    if (type == "Sequence") {
      const json::Value* parts = d.find("decoders");
      if (parts == nullptr || !parts->is_array()) refuse("its decoder is a sequence of nothing");
      for (const json::Value& v : *parts) read_decoder(json::Object(v, d.where()));
      return;
    }
    const bool spaces =
        type == "Replace" && d.object("pattern").text_or("String", "") == low_line && d.text("content") == " ";
    const bool strip = type == "Strip" && d.text("content") == " " && d.count("start") == 1 && d.count("stop") == 0;
    strips_ = strips_ || strip;
    const bool of_characters = spaces || strip || type == "ByteFallback" || type == "Fuse";
    if (steps_.bytewise ? type != "ByteLevel" : !of_characters)
      refuse(fmt::format("its decoder {} is not known", in_quotes(type)));
  }

  void read_post_processor(const json::Object& p) {
    const std::string type = p.text("type");
    if (type == "ByteLevel") return;  // moves offsets alone
    if (type == "Sequence") {
      const json::Value* parts = p.find("processors");
      if (parts == nullptr || !parts->is_array()) refuse("its post-processor is a sequence of nothing");
      for (const json::Value& v : *parts) read_post_processor(json::Object(v, p.where()));
      return;
    }
    if (type != "TemplateProcessing") refuse(fmt::format("its post-processor {} is not known", in_quotes(type)));
    read_template(p);
  }

  /// The special tokens before and after the text.
  void read_template(const json::Object& p) {
    const json::Value* single = p.find("single");
    if (single == nullptr || !single->is_array()) refuse("its post-processor has no \"single\"");
    bool behind = false;
    for (const json::Value& v : *single) {
      const json::Object part(v, p.where());
      if (part.has("Sequence")) {
        behind = true;
        continue;
      }
      const std::string token = part.object("SpecialToken").text("id");
      for (const Count id : p.object("special_tokens").object(token).counts("ids"))
        (behind ? after_ : before_).push_back(static_cast<std::int32_t>(std::min<Count>(id, vocabulary())));
    }
  }

  // ---- encoding

  void append(std::string stretch, std::vector<std::int32_t>& all) const {
    for (const std::string& piece : steps_.pieces(steps_.normalized(std::move(stretch)))) {
      const auto whole = symbols_.find(piece);
      if (whole_words_ && whole != symbols_.end()) {
        all.push_back(whole->second);
        continue;
      }
      const std::vector<std::int32_t> word = merges_.merged(steps_.bytewise ? bytes(piece) : characters(piece));
      all.insert(all.end(), word.begin(), word.end());
    }
  }

  std::vector<std::int32_t> bytes(const std::string& piece) const {
    std::vector<std::int32_t> word;
    for (const char c : piece) word.push_back(bytes_[static_cast<unsigned char>(c)]);
    return word;
  }

  std::vector<std::int32_t> characters(const std::string& piece) const {
    std::vector<std::int32_t> word;
    bool unknown_before = false;
    for (std::size_t at = 0; at < piece.size();) {
      const std::string c = piece.substr(at, std::max<std::size_t>(1, character_length(piece, at)));
      at += c.size();
      const auto known = symbols_.find(c);
      const bool unknown = known == symbols_.end() && bytes_[0] == no_token;
      if (known != symbols_.end())
        word.push_back(known->second);
      else if (!unknown)
        for (const char byte : c) word.push_back(bytes_[static_cast<unsigned char>(byte)]);
      else if (!unknown_before || !fuse_unknown_)
        word.push_back(unknown_);
      unknown_before = unknown;
    }
    return word;
  }

  std::string text_, where_;
  TextSteps steps_;
  AddedTokens added_;
  Ids tokens_;   ///< by their names in the file, while it is read
  Ids symbols_;  ///< of the model, by their bytes or characters
  PairMerges merges_;
  std::vector<std::string> texts_;  ///< of every token
  std::array<std::int32_t, 256> bytes_{};
  std::int32_t unknown_ = no_token;
  bool whole_words_ = false, fuse_unknown_ = false, strips_ = false;
  std::vector<std::int32_t> before_, after_;
};

}  // namespace

std::unique_ptr<Tokenizer> json_tokenizer(std::string text, const std::string& where) {
  return std::make_unique<JsonTokenizer>(std::move(text), where);
}

}  // namespace llmcalc::model
