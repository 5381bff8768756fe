#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <memory>

#include "learn/tokens/sentencepiece.hpp"
#include "learn/tokens/token_model.hpp"
#include "text/names.hpp"

namespace llmcalc::model {
namespace {

/// A protocol buffer message, written one field at a time (protobuf.dev, "Encoding").
class Message {
 public:
  void number(unsigned field, std::uint64_t value) {
    varint(field << 3U);
    varint(value);
  }
  void real(unsigned field, float value) {
    varint(field << 3U | 5U);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift & 0xffU);
  }
  void text(unsigned field, std::string_view value) {
    varint(field << 3U | 2U);
    varint(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

/// SentencePiece.Type of sentencepiece_model.proto.
enum class PieceType : std::uint8_t { normal = 1, unknown = 2, byte = 6 };

struct UnigramPiece {
  std::string piece;
  float score = 0;
};

UnigramPiece unigram_piece(const json::Value& v, const std::string& where) {
  if (!v.is_array() || v.size() != 2 || !v[0].is_string() || !v[1].is_number() || !std::isfinite(v[1].get<double>()))
    refuse_tokenizer(where, "an entry of \"vocab\" is not a pair of piece and score");
  return {v[0].get<std::string>(), static_cast<float>(v[1].get<double>())};
}

/// A SentencePiece model of these pieces without normalization, since earlier steps have already normalized the text.
std::string sentencepiece_model(const std::vector<UnigramPiece>& pieces, Count unknown, bool byte_fallback) {
  Message all;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string& piece = pieces[i].piece;
    const bool is_byte = byte_fallback && piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>');
    const PieceType type = static_cast<Count>(i) == unknown ? PieceType::unknown
                           : is_byte                        ? PieceType::byte
                                                            : PieceType::normal;
    Message one;
    one.text(1, piece);
    one.real(2, pieces[i].score);
    one.number(3, static_cast<std::uint64_t>(type));
    all.text(1, one.bytes());
  }
  Message trainer, normalizer;
  trainer.number(3, 1);  // model_type: UNIGRAM
  trainer.number(35, byte_fallback ? 1 : 0);
  trainer.text(45, pieces[static_cast<std::size_t>(unknown)].piece);
  for (const unsigned field : {3U, 4U, 5U})
    normalizer.number(field, 0);  // no dummy prefix; spaces neither removed nor escaped
  all.text(2, trainer.bytes());
  all.text(3, normalizer.bytes());
  return all.bytes();
}

}  // namespace

TokenModel unigram_model(const json::Object& m) {
  const json::Value* list = m.find("vocab");
  if (list == nullptr || !list->is_array()) refuse_tokenizer(m.where(), "\"vocab\" is not a list");
  const Count unknown = m.count("unk_id");
  const bool fall_back = m.flag_or("byte_fallback", false);
  TokenModel model;
  std::vector<UnigramPiece> pieces;
  for (const json::Value& v : *list) {
    const auto id = static_cast<Count>(pieces.size());
    pieces.push_back(unigram_piece(v, m.where()));
    model.ids.emplace(pieces.back().piece, static_cast<std::int32_t>(id));
    model.set_text(id, spoken_token(pieces.back().piece), m.where());
  }
  if (unknown >= static_cast<Count>(pieces.size())) refuse_tokenizer(m.where(), "\"unk_id\" is not in the vocabulary");
  for (std::size_t b = 0; fall_back && b < 256; ++b)
    if (const auto at = model.ids.find(byte_token(b)); at != model.ids.end())
      model.set_text(at->second, std::string(1, static_cast<char>(static_cast<unsigned char>(b))), m.where());
  model.tokens = sentencepiece_encoder(sentencepiece_model(pieces, unknown, fall_back), m.where());
  return model;
}

}  // namespace llmcalc::model
