#include "cli/kernels/learn_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/kernels/bounded_text.hpp"
#include "cli/out_file.hpp"
#include "model/storage/machine_memory.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"
#include "text/file_exists.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"
#include "text/utf8.hpp"

namespace llmcalc {
namespace {

/// Size of the text in bytes above which byte pairs are frequent enough to learn.
constexpr std::size_t enough_for_pairs = 100'000;
/// Size of the text in bytes above which the larger model learns more per step. It would memorize a shorter text.
constexpr std::size_t enough_for_larger = 1'000'000;
/// Size of the text in bytes below which token-pair counts may predict as well as a network.
constexpr std::size_t enough_to_learn = 20'000;
/// Default number of epochs, with limits on the number of steps that keep a run to minutes. With fewer epochs the
/// model is worse than pair counts; with more it overfits a short text, as the validation loss shows.
constexpr Count usual_passes = 8, least_steps = 500, most_steps = 3000;
/// Bytes of text per byte-pair token, with limits on the number of tokens: rarer tokens have too few examples to
/// learn from.
constexpr Count bytes_per_pair = 320, least_pairs = 384, most_pairs = 1024;

std::string text_of(const std::string& path) {
  std::string all = file_text(path);
  if (all.empty()) throw InputError(fmt::format("'{}' is empty; pass a text of about 100 KB or more", path));
  model::refuse_unless_utf8(all, path);
  return all;
}

/// 64-bit FNV-1a hash that identifies a text.
std::string fingerprint(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

/// Default --out, in the current folder: my/notes.txt -> notes.safetensors.
std::string usual_out(const std::string& text) {
  return std::filesystem::path(text).filename().replace_extension(".safetensors").string();
}

bool is_own_checkpoint(const std::string& path) {
  const model::SafetensorsFile file(path);
  file.text("llmcalc_checkpoint");  // throws if the key is missing: not a checkpoint of this program
  return true;
}

std::shared_ptr<const model::Tokenizer> tokenizer_for(const Arguments& a, const LearnRequest& r) {
  const std::string learned = r.text.substr(0, model::split(r.text).validation);
  const bool usual_pairs = model::has_byte_pairs() && r.text.size() >= enough_for_pairs;
  const std::string kind = a.text("--tokenizer", usual_pairs || a.has("--vocabulary") ? "bpe" : "bytes");
  if (kind == "bytes" && a.has("--vocabulary"))
    throw InputError("--vocabulary applies only to --tokenizer bpe; bytes has 256 tokens; omit it");
  if (kind == "bytes") return model::byte_tokenizer();
  const Count usual = std::clamp(static_cast<Count>(r.text.size()) / bytes_per_pair, least_pairs, most_pairs);
  return model::learned_tokenizer(
      learned, a.has("--vocabulary") ? parse_positive(a.text("--vocabulary"), "--vocabulary") : usual);
}

ModelCard model_for(const Arguments& a, const LearnRequest& r) {
  ModelCard from;
  if (a.has("--model")) {
    from = load_model(a.text("--model"));
    from.arch.vocabulary = r.tokenizer->vocabulary();
  } else {
    const Count hidden = r.text.size() < enough_for_larger ? 128 : 192;
    from.arch = model::small_arch(r.tokenizer->vocabulary(), r.settings.seq, hidden);
    from.name = "small-llama";
  }
  ModelCard card;
  card.name = from.name;
  card.title = fmt::format("{} of {}", from.title.empty() ? from.name : from.title,
                           std::filesystem::path(r.text_path).filename().string());
  card.source = r.out;
  card.arch = from.arch;
  return card;
}

Count usual_steps(const LearnRequest& r, Count tokens) {
  return std::clamp(ceil_div(mul(usual_passes, tokens), mul(r.settings.batch, r.settings.seq)), least_steps,
                    most_steps);
}

void read_run(const Arguments& a, LearnRequest& r) {
  if (a.has("--steps")) r.settings.steps = parse_positive(a.text("--steps"), "--steps");
  if (a.has("--minutes")) r.minutes = parse_positive_real(a.text("--minutes"), "--minutes");
  r.by_minutes = a.has("--minutes") && !a.has("--steps");
}

void settle_new(const Arguments& a, LearnRequest& r) {
  const std::string usual = is_gpu(a.text("--device", "cpu")) ? "bf16" : "fp32";
  r.precision = a.text("--precision", usual) == "bf16" ? dtypes::bf16 : dtypes::fp32;
  r.tokenizer = tokenizer_for(a, r);
  const auto learned = static_cast<Count>(
      r.tokenizer->encode(std::string_view(r.text).substr(0, model::split(r.text).validation)).size());
  model::LearningSettings& s = r.settings;
  if (a.has("--batch")) s.batch = parse_positive(a.text("--batch"), "--batch");
  if (a.has("--rate")) s.rate = parse_positive_real(a.text("--rate"), "--rate");
  if (a.has("--seed")) s.seed = static_cast<std::uint64_t>(parse_count(a.text("--seed"), "--seed"));
  if (a.has("--seq"))
    s.seq = parse_positive(a.text("--seq"), "--seq");
  else
    s.seq = std::clamp<Count>(learned - 1, 1, s.seq);
  r.model = model_for(a, r);
  const Arch& arch = r.model.arch;
  if (!a.has("--seq")) s.seq = std::min(s.seq, arch.context);
  if (arch.learned_rows() > 0 && s.seq > arch.learned_rows())
    throw InputError(fmt::format("--seq {} exceeds the {} learned positions of {}; set at most {}", s.seq,
                                 arch.learned_rows(), r.model.name, arch.learned_rows()));
  if (a.has("--seq") && s.seq >= learned)
    throw InputError(fmt::format("--seq {}: the training text has {} tokens; pass a longer text or a smaller --seq",
                                 s.seq, learned));
  if (!a.has("--steps")) s.steps = usual_steps(r, learned);
  read_run(a, r);
}

/// Prepares a resumed run. Its settings come from the checkpoint; only its length can change.
void settle_resumed(const Arguments& a, LearnRequest& r) {
  for (const char* flag :
       {"--model", "--batch", "--seq", "--rate", "--vocabulary", "--tokenizer", "--precision", "--seed"})
    if (a.has(flag)) throw InputError(fmt::format("--resume uses the settings of '{}'; omit {}", r.out, flag));
  if (!file_exists(r.out))
    throw InputError(
        fmt::format("checkpoint '{}' does not exist; omit --resume, or specify the checkpoint with --out", r.out));
  r.resumed = std::make_unique<model::TrainingCheckpoint>(r.out);
  if (!r.resumed->can_resume())
    throw InputError(
        fmt::format("'{}' contains no optimizer moments; it can generate text but cannot resume training", r.out));
  const model::CheckpointCard& card = r.resumed->card();
  const std::string where = r.out + ", \"training\", \"settings\"";
  r.settings = model::settings_from(card.settings, where);
  const std::string text = json::Object(card.settings, where).text("text_fnv1a");
  if (text != fingerprint(r.text))
    throw InputError(fmt::format("'{}' was trained on a different text than '{}'; pass that text, or omit --resume",
                                 r.out, r.text_path));
  r.model = card.model;
  r.model.source = r.out;
  r.precision = r.resumed->number() == model::Number::bf16 ? dtypes::bf16 : dtypes::fp32;
  r.tokenizer = model::loaded_tokenizer(card.tokenizer, r.out);
  read_run(a, r);
  if (!a.has("--minutes") && card.progress.updates >= r.settings.steps)
    throw InputError(
        fmt::format("'{}' has already been trained for {} steps; set --steps to a higher number, or pass --minutes",
                    r.out, card.progress.updates));
}

}  // namespace

json::Value LearnRequest::settings_json() const {
  json::Value v = model::settings_json(settings);
  v["text_fnv1a"] = fingerprint(text);
  return v;
}

LearnRequest settled(const Arguments& a) {
  LearnRequest r;
  r.text_path = a.word("FILE");
  r.text = text_of(r.text_path);
  r.out = a.text("--out", usual_out(r.text_path));
  check_out({r.out, "--out", "a checkpoint", is_own_checkpoint}, a.has("--force"));
  r.where = place(a.text("--device", "cpu"));
  a.has("--resume") ? settle_resumed(a, r) : settle_new(a, r);
  if (r.model.arch.is_encoder_decoder())
    throw InputError(
        fmt::format("{} is an encoder-decoder model, but 'llmcalc learn' trains a model to continue a text; set "
                    "--model to a decoder-only model",
                    r.model.name));
  if (r.model.arch.bidirectional)
    throw InputError(fmt::format(
        "{} attends to later tokens, but 'llmcalc learn' trains next-token prediction; set --model to a decoder",
        r.model.name));
  if (!r.model.arch.head.has_logits())
    throw InputError(fmt::format(
        "{} has no head, but 'llmcalc learn' trains next-token prediction; set --model to a model with a head",
        r.model.name));
  model::refuse_beyond_memory(model::learning_memory(r.model.arch, model::learning_plan(r.settings, r.precision)),
                              "training this model with this batch size", "use a smaller --model, --batch or --seq",
                              r.where.room());
  if (r.text.size() < enough_to_learn)
    r.notes.push_back(
        {"short_text",
         fmt::format(
             "a text of {} bytes may be too short for a model to beat the bigram baseline; see the table at the end",
             r.text.size())});
  return r;
}

}  // namespace llmcalc
