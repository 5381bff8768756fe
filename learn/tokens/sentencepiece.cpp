#include "learn/tokens/sentencepiece.hpp"

#include "text/error.hpp"

#ifdef LLMCALC_SENTENCEPIECE

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "text/leading_number.hpp"
#include "text/utf8.hpp"

namespace llmcalc::model {

bool has_byte_pairs() { return true; }

namespace {

/// The library's internal character for a space (U+2581), which is removed from texts before they are passed to the
/// library.
constexpr std::string_view space_mark = "\xE2\x96\x81";
/// Characters with a special meaning to the library in training text: the space mark, the sign for an unknown character
/// (U+2585), and the tab. They are left out of training text and encoded as bytes.
constexpr std::array<std::string_view, 3> reserved{space_mark, "\xE2\x96\x85", "\t"};

/// The library counts a word's characters in a 16-bit integer and aborts the program if the count overflows.
constexpr std::size_t longest_line = 8192;
/// Maximum bytes to encode in one call: the library's queue of pairs takes about a hundred times as much memory as the
/// text.
constexpr std::size_t longest_stretch = 65536;
/// Maximum bytes of training text, since training takes about a second per MiB. Longer text is sampled evenly by line.
constexpr std::size_t enough_text = std::size_t{16} << 20;

/// Number of fixed tokens: unknown, end of text, and the 256 bytes.
constexpr Count fixed_tokens = 2 + 256;
constexpr Count least_vocabulary = fixed_tokens + 2;

/// The lines to train on; for a long text, an evenly spaced subset.
std::vector<std::string_view> learned_lines(std::string_view text) {
  const std::size_t stride = text.size() / enough_text + 1;
  std::vector<std::string_view> lines;
  for (std::size_t at = 0, line = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at && line % stride == 0) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Calls `see` for every character, and for every byte outside a valid character.
template <typename See>
void each_character(std::string_view text, const See& see) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = character_length(text, at);
    see(text.substr(at, std::max<std::size_t>(n, 1)), n > 0);
    at += std::max<std::size_t>(n, 1);
  }
}

/// Characters with their own token: the most frequent ones, until they cover 99.95 % of the text (SentencePiece's
/// default) or half of the vocabulary's capacity. Other characters are encoded as bytes.
std::unordered_set<std::string_view> own_characters(const std::vector<std::string_view>& lines, Count vocabulary) {
  std::unordered_map<std::string_view, Count> counts;
  Count all = 0;
  for (const auto line : lines)
    each_character(line, [&](std::string_view c, bool well_formed) {
      if (!well_formed || std::find(reserved.begin(), reserved.end(), c) != reserved.end()) return;
      ++counts[c];
      ++all;
    });
  std::vector<std::pair<std::string_view, Count>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::unordered_set<std::string_view> own;
  Count covered = 0;
  for (const auto& [character, count] : sorted) {
    if (static_cast<Count>(own.size()) >= (vocabulary - fixed_tokens) / 2) break;
    if (static_cast<double>(covered) >= 0.9995 * static_cast<double>(all)) break;
    own.insert(character);
    covered += count;
  }
  return own;
}

/// Training sentences for the library: runs of the characters that have their own tokens, limited in length.
std::vector<std::string> sentences(std::string_view text, Count vocabulary) {
  const auto lines = learned_lines(text);
  const auto own = own_characters(lines, vocabulary);
  std::vector<std::string> all;
  for (const auto line : lines) {
    std::string sentence;
    const auto end_sentence = [&] {
      if (!sentence.empty()) all.push_back(std::exchange(sentence, {}));
    };
    each_character(line, [&](std::string_view c, bool) {
      if (!own.contains(c)) return end_sentence();
      sentence += c;
      if (sentence.size() >= longest_line) end_sentence();
    });
    end_sentence();
  }
  return all;
}

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::vector<std::string> all) : all_(std::move(all)) {}
  bool done() const override { return at_ >= all_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return all_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> all_;
  std::size_t at_ = 0;
};

/// Training options: text is not normalized, spaces are neither added nor removed, and every byte has a token; one
/// thread with a fixed order makes the model reproducible.
std::unordered_map<std::string, std::string> learning_options(Count vocabulary) {
  return {{"model_type", "bpe"},
          {"vocab_size", std::to_string(vocabulary)},
          {"hard_vocab_limit", "false"},
          {"byte_fallback", "true"},
          {"character_coverage", "1.0"},
          {"normalization_rule_name", "identity"},
          {"add_dummy_prefix", "false"},
          {"remove_extra_whitespaces", "false"},
          {"allow_whitespace_only_pieces", "true"},
          {"max_sentence_length", std::to_string(2 * longest_line)},
          {"shuffle_input_sentence", "false"},
          {"num_threads", "1"},
          {"unk_id", "0"},
          {"eos_id", "1"},
          {"bos_id", "-1"},
          {"pad_id", "-1"},
          {"minloglevel", "2"}};
}

/// The library's error message, on one line.
std::string reason(const sentencepiece::util::Status& status) {
  std::string text = status.ToString();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class BytePairs : public Tokenizer {
 public:
  BytePairs(std::string model, const std::string& where) : model_(std::move(model)) {
    if (const auto status = library_.LoadFromSerializedProto(model_); !status.ok())
      refuse(where, "is not a SentencePiece model: " + reason(status));
    find_bytes(where);
    has_space_ = !library_.IsUnknown(library_.PieceToId(space_mark));
    // Includes multiple spaces, a ligature and a space mark, to detect any normalization or added leading space.
    const std::string probe = "  a  b\n\xEF\xAC\x81\xE2\x96\x81 ";
    if (decode(encode(probe)) != probe) refuse(where, "does not reproduce encoded text");
  }

  Count vocabulary() const override { return library_.GetPieceSize(); }
  std::string_view name() const override { return sentencepiece_name; }

  std::optional<std::int32_t> end_of_text() const override {
    return library_.eos_id() < 0 ? std::nullopt : std::optional<std::int32_t>(library_.eos_id());
  }

  /// Runs of characters without line ends and space marks are encoded by the library, everything else byte by byte.
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    std::size_t begin = 0, at = 0;
    const auto encode_stretch = [&] {
      if (at > begin) append_stretch(text.substr(begin, at - begin), tokens);
    };
    each_character(text, [&](std::string_view c, bool well_formed) {
      const bool bytewise = !well_formed || c == "\n" || c == space_mark || (c == " " && !has_space_);
      if (bytewise || at - begin >= longest_stretch) {
        encode_stretch();
        begin = at;
      }
      at += c.size();
      if (!bytewise) return;
      for (const char byte : c) tokens.push_back(bytes_[static_cast<unsigned char>(byte)]);
      begin = at;
    });
    encode_stretch();
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t t : tokens) {
      if (t < 0 || t >= vocabulary())
        throw InputError(fmt::format("token {} is not in the tokenizer's vocabulary of {}", t, vocabulary()));
      append_text(t, text);
    }
    return text;
  }

 private:
  std::string body() const override { return model_; }

  [[noreturn]] static void refuse(const std::string& where, const std::string& what) {
    throw InputError(
        fmt::format("'{}': its tokenizer {}; it is damaged or was written by another program", where, what));
  }

  void find_bytes(const std::string& where) {
    for (std::size_t b = 0; b < bytes_.size(); ++b) {
      bytes_[b] = library_.PieceToId(fmt::format("<0x{:02X}>", b));
      if (!library_.IsByte(bytes_[b])) refuse(where, fmt::format("has no token for byte {:#04x}", b));
      byte_of_.emplace(bytes_[b], static_cast<char>(static_cast<unsigned char>(b)));
    }
  }

  void append_stretch(std::string_view text, std::vector<std::int32_t>& tokens) const {
    std::vector<int> own;
    if (const auto status = library_.Encode(text, &own); !status.ok())
      throw InputError("SentencePiece cannot encode the text: " + reason(status));
    tokens.insert(tokens.end(), own.begin(), own.end());
  }

  /// Appends a token's text: a byte, an empty string (unknown, end of text), or the piece with marks replaced by
  /// spaces.
  void append_text(std::int32_t token, std::string& text) const {
    if (library_.IsUnknown(token) || library_.IsControl(token)) return;
    if (const auto byte = byte_of_.find(token); byte != byte_of_.end()) {
      text += byte->second;
      return;
    }
    each_character(library_.IdToPiece(token), [&](std::string_view c, bool) { text += c == space_mark ? " " : c; });
  }

  std::string model_;
  sentencepiece::SentencePieceProcessor library_;
  std::array<std::int32_t, 256> bytes_{};
  std::unordered_map<std::int32_t, char> byte_of_;
  bool has_space_ = false;  ///< whether the training text had spaces; otherwise a space is encoded as bytes of the mark
};

/// A SentencePiece model trained by another program.
class ForeignPieces final : public Tokenizer {
 public:
  ForeignPieces(std::string model, const std::string& where) : model_(std::move(model)) {
    if (const auto status = library_.LoadFromSerializedProto(model_); !status.ok())
      throw InputError(fmt::format("'{}' is not a SentencePiece model: {}", where, reason(status)));
    const std::vector<int> probe = library_.EncodeAsIds("a");
    adds_space_ = !probe.empty() && library_.IdToPiece(probe[0]).starts_with(space_mark);
  }

  Count vocabulary() const override { return library_.GetPieceSize(); }
  std::string_view name() const override { return sentencepiece_file_name; }
  std::optional<std::int32_t> end_of_text() const override {
    return library_.eos_id() < 0 ? std::nullopt : std::optional<std::int32_t>(library_.eos_id());
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    if (text.size() > 16 * longest_stretch)
      throw InputError(
          fmt::format("a text of {} bytes is too long for tokenizer.model, which needs about a hundred times its size "
                      "in memory; pass at most {}, or use the model's tokenizer.json",
                      text.size(), 16 * longest_stretch));
    std::vector<int> tokens;
    if (const auto status = library_.Encode(text, &tokens); !status.ok())
      throw InputError("SentencePiece cannot encode the text: " + reason(status));
    if (library_.bos_id() >= 0) tokens.insert(tokens.begin(), library_.bos_id());
    return {tokens.begin(), tokens.end()};
  }

  /// Removes the leading space that the model adds, if the tokens start a text.
  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t t : tokens) text += text_of(t);
    const bool whole = !tokens.empty() && library_.bos_id() >= 0 && tokens[0] == library_.bos_id();
    return whole && adds_space_ && text.starts_with(' ') ? text.substr(1) : text;
  }

 private:
  std::string body() const override { return model_; }

  /// Parses a byte token such as "<0x0A>"; the library guarantees this form.
  static std::string byte_of(std::string piece) {
    return {static_cast<char>(leading_whole(piece.erase(0, std::min<std::size_t>(piece.size(), 3)), 16))};
  }

  std::string text_of(std::int32_t t) const {
    if (t < 0) throw InputError(fmt::format("token {} is not in the tokenizer's vocabulary of {}", t, vocabulary()));
    if (t >= vocabulary() || library_.IsUnknown(t) || library_.IsControl(t)) return {};
    const std::string& piece = library_.IdToPiece(t);
    if (library_.IsByte(t)) return byte_of(piece);
    std::string text;
    each_character(piece, [&](std::string_view c, bool) { text += c == space_mark ? " " : c; });
    return text;
  }

  std::string model_;
  sentencepiece::SentencePieceProcessor library_;
  bool adds_space_ = false;
};

}  // namespace

std::unique_ptr<Tokenizer> sentencepiece_file_tokenizer(std::string model, const std::string& where) {
  return std::make_unique<ForeignPieces>(std::move(model), where);
}

std::string learned_sentencepiece(std::string_view text, Count vocabulary) {
  if (vocabulary < least_vocabulary || vocabulary > std::numeric_limits<std::int32_t>::max())
    throw InputError(fmt::format("a vocabulary of {} is out of range for byte-pair encoding; set it to {} or more",
                                 vocabulary, least_vocabulary));
  Sentences all(sentences(text, vocabulary));
  if (all.done()) throw InputError("the text has no line to train byte-pair encoding on; pass a longer text");
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(learning_options(vocabulary), &all, &model);
  if (!status.ok()) throw InputError("SentencePiece training failed: " + reason(status));
  return model;
}

std::function<std::vector<std::int32_t>(const std::string& text)> sentencepiece_encoder(const std::string& model,
                                                                                        const std::string& where) {
  const auto library = std::make_shared<sentencepiece::SentencePieceProcessor>();
  if (const auto status = library->LoadFromSerializedProto(model); !status.ok())
    throw InputError(fmt::format("{}: SentencePiece cannot load the model: {}", where, reason(status)));
  return [library](const std::string& text) {
    std::vector<int> tokens;
    if (const auto status = library->Encode(text, &tokens); !status.ok())
      throw InputError("SentencePiece cannot encode the text: " + reason(status));
    return std::vector<std::int32_t>(tokens.begin(), tokens.end());
  };
}

std::unique_ptr<Tokenizer> sentencepiece_tokenizer(std::string model, const std::string& where) {
  return std::make_unique<BytePairs>(std::move(model), where);
}

}  // namespace llmcalc::model

#else

namespace llmcalc::model {

bool has_byte_pairs() { return false; }

namespace {

[[noreturn]] void missing(const std::string& what) {
  throw InputError(what +
                   " requires SentencePiece, but this llmcalc was built without it; install it (Debian: "
                   "libsentencepiece-dev) and rebuild, or use plain bytes");
}

}  // namespace

std::string learned_sentencepiece(std::string_view, Count) { missing("byte-pair encoding"); }

std::unique_ptr<Tokenizer> sentencepiece_file_tokenizer(std::string, const std::string& where) {
  missing("'" + where + "'");
}

std::function<std::vector<std::int32_t>(const std::string& text)> sentencepiece_encoder(const std::string&,
                                                                                        const std::string& where) {
  missing(where + ": the Unigram model");
}

std::unique_ptr<Tokenizer> sentencepiece_tokenizer(std::string, const std::string& where) {
  missing("'" + where + "': the tokenizer");
}

}  // namespace llmcalc::model

#endif
