#include "learn/model_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "learn/stored_numbers.hpp"
#include "learn/tokens/json_tokenizer.hpp"
#include "learn/tokens/sentencepiece.hpp"
#include "presets/header/checkpoint.hpp"
#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "text/json.hpp"
#include "text/names.hpp"

namespace llmcalc::model {
namespace {

namespace fs = std::filesystem;

/// Number of elements read at a time.
constexpr Count block_numbers = Count{1} << 18;

bool is_file(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

json::Value parsed(const std::string& path) { return json::parse(json::file_text(path), path); }

std::string sides(std::span<const Count> shape) {
  std::string text;
  for (const Count n : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", n);
  return "[" + text + "]";
}

/// Shape of the tensor that stores a weight.
std::vector<Count> stored_sides(const ParameterShape& s, const StoredPlace& at) {
  const Count out = mul(s.out, at.parts);
  if (s.in == 0) return {out};
  return at.transposed ? std::vector{s.in, out} : std::vector{out, s.in};
}

/// Reads n elements of a tensor, starting at `begin`, and calls take(index of the first element, bytes) for each block.
template <typename F>
void each_stored_block(const SafetensorsFile& file, const SafetensorsFile::Entry& e, Count begin, Count n,
                       const F& take) {
  const Count each = stored_bytes(e.dtype)->value;
  std::vector<std::byte> bytes;
  for (Count at = 0; at < n; at += block_numbers) {
    bytes.resize(static_cast<std::size_t>(std::min(block_numbers, n - at) * each));
    file.read_part(e, (begin + at) * each, bytes);
    take(at, std::span<const std::byte>(bytes));
  }
}

/// Like each_stored_block(), but with values as double: calls take(index of the first element, values) for each block.
template <typename F>
void each_block(const SafetensorsFile& file, const SafetensorsFile::Entry& e, Count begin, Count n, const F& take) {
  std::vector<double> numbers;
  each_stored_block(file, e, begin, n, [&](Count at, std::span<const std::byte> bytes) {
    numbers.resize(bytes.size() / static_cast<std::size_t>(stored_bytes(e.dtype)->value));
    widen(e.dtype, bytes, numbers);
    take(at, std::span<const double>(numbers));
  });
}

/// Reads a weight (out, in) from a tensor stored as (in, parts x out).
std::vector<double> turned(const SafetensorsFile& file, const SafetensorsFile::Entry& e, const ParameterShape& s,
                           const StoredPlace& at) {
  const Count columns = s.out * at.parts, skipped = s.out * at.part;
  std::vector<double> weight(static_cast<std::size_t>(s.elements()));
  each_block(file, e, 0, mul(s.in, columns), [&](Count begin, std::span<const double> numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Count row = (begin + static_cast<Count>(i)) / columns,
                  out = (begin + static_cast<Count>(i)) % columns - skipped;
      if (out >= 0 && out < s.out) weight[static_cast<std::size_t>(out * s.in + row)] = numbers[i];
    }
  });
  return weight;
}

}  // namespace

bool holds_weights(const std::string& path) {
  return is_file(path + "/config.json") && is_checkpoint(path) && !read_checkpoint(path).is_gguf();
}

ModelFolder::ModelFolder(const std::string& path) : path_(path) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  const std::string config = file("config.json");
  if (!is_file(config))
    throw InputError(fmt::format(
        "the folder '{}' has no config.json; pass a folder with config.json and the model's safetensors", path_));
  const Runnable r = import_runnable(parsed(config), config);
  card_ = load_model(config);
  numerics_ = r.numerics;
  names_ = name_table(r.model_type);
  open_files();
  find_prefix();
  each_weight([this](const ParameterShape& s, Count expert) { check(s, expert); });
  refuse_others();
}

// ---- Files

void ModelFolder::open_files() {
  const llmcalc::Checkpoint headers = read_checkpoint(path_);
  if (headers.is_gguf())
    throw InputError(
        fmt::format("'{}' contains GGUF weights, which cannot be run; pass a folder of safetensors", path_));
  for (const std::string& path : headers.files) add(files_.emplace_back(path));
}

void ModelFolder::add(const SafetensorsFile& from) {
  for (const Entry& e : from.entries())
    if (const auto [at, is_new] = tensors_.emplace(e.name, Stored{&from, &e}); !is_new)
      throw InputError(fmt::format("tensor {} is in both '{}' and '{}'; remove one", in_quotes(e.name),
                                   at->second.file->path(), from.path()));
}

// ---- Names

/// Finds the prefix of the checkpoint's tensor names from the name of the token embedding.
void ModelFolder::find_prefix() {
  const std::string table = stored_place(*names_, "embedding.tokens.weight").name;
  for (const std::string_view prefix : names_->prefixes)
    if (tensors_.contains(std::string(prefix) + table)) prefix_ = prefix;
}

const ModelFolder::Stored& ModelFolder::stored(std::string_view weight, Count expert) const {
  const std::string name = prefix_ + stored_place(*names_, weight, expert).name;
  const auto at = tensors_.find(name);
  if (at == tensors_.end())
    throw InputError(fmt::format("'{}': tensor {}, required by config.json, is missing", path_, in_quotes(name)));
  return at->second;
}

void ModelFolder::check(const ParameterShape& shape, Count expert) const {
  const Stored& s = stored(shape.name, expert);
  const std::vector<Count> sides_asked = stored_sides(shape, stored_place(*names_, shape.name));
  const std::string where = fmt::format("'{}', tensor {}", s.file->path(), in_quotes(s.entry->name));
  if (!is_stored_number(s.entry->dtype))
    throw InputError(
        fmt::format("{}: {} is not supported; supported formats are fp32, bf16 and fp16", where, s.entry->dtype));
  if (s.entry->shape != sides_asked)
    throw InputError(fmt::format("{}: expected shape {} from config.json, got {}", where, sides(sides_asked),
                                 sides(s.entry->shape)));
}

void ModelFolder::each_weight(const std::function<void(const ParameterShape&, Count)>& f) const {
  for (const ParameterShape& shape : parameter_shapes(card_.arch))
    for (Count expert = 0; expert < shape.groups; ++expert) f(shape, expert);
}

void ModelFolder::refuse_others() const {
  std::set<std::string, std::less<>> known;
  each_weight([&](const ParameterShape& s, Count expert) { known.insert(stored(s.name, expert).entry->name); });
  for (const auto& [name, at] : tensors_) {
    const std::string_view bare = std::string_view(name).substr(name.starts_with(prefix_) ? prefix_.size() : 0);
    if (!known.contains(name) && !is_ignored(*names_, bare) && !is_ignored(*names_, name))
      throw InputError(fmt::format("'{}', tensor {}: the model in config.json has no such weight", at.file->path(),
                                   in_quotes(name)));
  }
}

Number ModelFolder::number() const {
  bool narrow = true;
  each_weight(
      [&](const ParameterShape& s, Count expert) { narrow = narrow && stored(s.name, expert).entry->dtype == "BF16"; });
  return narrow ? Number::bf16 : Number::f32;
}

// ---- Weights

void ModelFolder::load(Transformer& t, Parameter& p, Count expert) const {
  const Stored& s = stored(p.shape.name, expert);
  const StoredPlace at = stored_place(*names_, p.shape.name);
  if (at.transposed && p.shape.in > 0) return t.weights().set(p, turned(*s.file, *s.entry, p.shape, at));
  const Count n = p.elements() / p.shape.groups, begin = n * at.part;
  auto* const to = static_cast<std::byte*>(p.value->data()) + (n * expert * t.backend().number()).value;
  if (s.entry->dtype == own_dtype(t.backend().format()))
    return each_stored_block(*s.file, *s.entry, begin, n, [&](Count from, std::span<const std::byte> bytes) {
      t.backend().upload(to + (from * t.backend().number()).value, bytes.data(),
                         Bytes(static_cast<Count>(bytes.size())));
    });
  each_block(*s.file, *s.entry, begin, n, [&](Count from, std::span<const double> numbers) {
    t.backend().write(to + (from * t.backend().number()).value, numbers, false);
  });
}

/// Loads a quantized parameter. Quantization needs all of its values at once.
void ModelFolder::load_coded(Transformer& t, Parameter& p) const {
  const StoredPlace at = stored_place(*names_, p.shape.name);
  std::vector<double> all;
  for (Count expert = 0; expert < p.shape.groups; ++expert) {
    const Stored& s = stored(p.shape.name, expert);
    if (at.transposed && p.shape.in > 0) return t.weights().set(p, turned(*s.file, *s.entry, p.shape, at));
    const Count n = p.elements() / p.shape.groups;
    each_block(*s.file, *s.entry, n * at.part, n,
               [&](Count, std::span<const double> numbers) { all.insert(all.end(), numbers.begin(), numbers.end()); });
  }
  t.weights().set(p, all);
}

void ModelFolder::load(Transformer& t, const OnLoaded& loaded) const {
  OnLoadedBytes so_far(t, loaded);
  for (Parameter& p : t.weights().all()) {
    if (p.format)
      load_coded(t, p);
    else
      for (Count expert = 0; expert < p.shape.groups; ++expert) load(t, p, expert);
    so_far.add(p);
  }
}

// ---- Text

const Tokenizer& ModelFolder::tokenizer() const {
  if (tokenizer_ != nullptr) return *tokenizer_;
  const std::string json = file(json_tokenizer_name), pieces = file(sentencepiece_file_name);
  if (!is_file(json) && !is_file(pieces))
    throw InputError(fmt::format("the folder '{}' has neither {} nor {}, so text cannot be encoded or decoded", path_,
                                 json_tokenizer_name, sentencepiece_file_name));
  const std::string& path = is_file(json) ? json : pieces;
  std::string text = json::file_text(path, "a tokenizer");
  tokenizer_ =
      path == json ? json_tokenizer(std::move(text), path) : sentencepiece_file_tokenizer(std::move(text), path);
  if (tokenizer_->vocabulary() > card_.arch.vocabulary)
    throw InputError(fmt::format("'{}' has {} tokens but the model has {}; they do not match", path,
                                 tokenizer_->vocabulary(), card_.arch.vocabulary));
  return *tokenizer_;
}

/// eos_token_id of generation_config.json, or else of config.json: one id or a list.
std::vector<std::int32_t> ModelFolder::ends() const {
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (!is_file(file(name))) continue;
    const json::Value all = parsed(file(name));
    const json::Object o(all, file(name));
    if (!o.has("eos_token_id")) continue;
    const std::vector<Count> ids =
        o.find("eos_token_id")->is_array() ? o.counts("eos_token_id") : std::vector{o.count("eos_token_id")};
    std::vector<std::int32_t> tokens;
    for (const Count id : ids)
      if (id < card_.arch.vocabulary) tokens.push_back(static_cast<std::int32_t>(id));
    return tokens;
  }
  return {};
}

/// RoPE scaling multiplies the trained length; a config's context length may or may not include the factor.
Count ModelFolder::longest() const {
  const Rope& r = numerics_.rope;
  const Arch& a = card_.arch;
  if (a.learned_rows() > 0) return a.learned_rows();
  if (r.scaling == RopeScaling::none || !a.local.layers.empty()) return a.context;
  return std::max(a.context, static_cast<Count>(r.factor * static_cast<double>(r.trained)));
}

}  // namespace llmcalc::model
