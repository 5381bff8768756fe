#include "learn/checkpoint.hpp"

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "presets/model_file.hpp"
#include "text/names.hpp"

namespace llmcalc::model {
namespace {

constexpr std::string_view format_key = "llmcalc_checkpoint", format_number = "1";
constexpr const char* last_prefix = "last.";
constexpr const char* master_prefix = "master.";
constexpr const char* first_prefix = "first.";
constexpr const char* second_prefix = "second.";

struct Precision {
  std::string_view name, stored, wide;
  Number number;
};
/// Storage formats: that of the weights, and that of the master weights and moments, which use the backend's wide
/// format.
constexpr std::array precisions{Precision{"fp32", "F32", "F32", Number::f32},
                                Precision{"bf16", "BF16", "F32", Number::bf16},
                                Precision{"fp64", "F64", "F64", Number::f64}};

const Precision& precision_of(const Backend& b) {
  for (const Precision& p : precisions)
    if (stored_bytes(p.stored) == b.number()) return p;
  throw std::logic_error("unknown number format of a backend");
}

std::vector<Count> stored_shape(const ParameterShape& s) {
  std::vector<Count> shape;
  if (s.groups > 1) shape.push_back(s.groups);
  shape.push_back(s.out);
  if (s.in > 0) shape.push_back(s.in);
  return shape;
}

/// FNV-1a checksum (Fowler, Noll and Vo) over 64-bit words, with each part followed by its length.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, 8);
      mix(word);
    }
    for (; i < bytes.size(); ++i) mix(static_cast<std::uint64_t>(bytes[i]));
    mix(bytes.size());
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void add(const Metadata& texts) {
    for (const auto& [key, text] : texts)
      if (key != "checksum") {
        add(key);
        add(text);
      }
  }
  void add(std::string_view name, std::string_view dtype, std::span<const Count> shape) {
    add(name);
    add(dtype);
    add(std::as_bytes(shape));
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  void mix(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3U; }
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

std::vector<std::byte> downloaded(Transformer& t, const Tensor& x) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(x->bytes().value));
  t.backend().download(bytes.data(), x->data(), x->bytes());
  return bytes;
}

json::Value or_null(const std::optional<double>& x) { return x ? json::Value(*x) : json::Value(); }

Metadata texts(const CheckpointCard& c, const Precision& p) {
  const TrainingProgress& g = c.progress;
  const json::Value training{{"updates", g.updates},
                             {"micro_batches", g.micro_batches},
                             {"tokens", g.tokens},
                             {"loss", or_null(g.loss)},
                             {"validation_loss", or_null(g.validation_loss)},
                             {"settings", c.settings}};
  return {{std::string(format_key), std::string(format_number)},
          {"model", model_file_text(model_file_json(c.model))},
          {"precision", std::string(p.name)},
          {"training", training.dump()}};
}

/// Collects the tensors for a file and owns their bytes until they are written.
class TensorCollector {
 public:
  void add(const std::string& name, std::string_view dtype, std::vector<Count> shape, std::vector<std::byte> bytes) {
    bytes_.push_back(std::move(bytes));
    tensors_.push_back({name, std::string(dtype), std::move(shape), bytes_.back()});
  }
  std::span<const StoredTensor> tensors() const { return tensors_; }

 private:
  std::deque<std::vector<std::byte>> bytes_;
  std::vector<StoredTensor> tensors_;
};

void add_weights(TensorCollector& all, Transformer& t, const Precision& p, const WeightBytes* best) {
  std::size_t i = 0;
  for (const Parameter& w : t.weights().all()) {
    std::vector<std::byte> own = downloaded(t, w.value);
    const std::vector<std::byte>& kept = best != nullptr ? (*best)[i++] : own;
    all.add(w.shape.name, p.stored, stored_shape(w.shape), kept);
    if (best != nullptr) all.add(last_prefix + w.shape.name, p.stored, stored_shape(w.shape), std::move(own));
  }
}

void add_state(TensorCollector& all, Transformer& t, const Precision& p) {
  for (const Parameter& w : t.weights().all())
    for (const auto& [prefix, tensor] :
         {std::pair{master_prefix, &w.master}, std::pair{first_prefix, &w.first}, std::pair{second_prefix, &w.second}})
      if (*tensor) all.add(prefix + w.shape.name, p.wide, stored_shape(w.shape), downloaded(t, *tensor));
}

}  // namespace

WeightBytes weight_bytes(Transformer& t) {
  WeightBytes all;
  for (const Parameter& w : t.weights().all()) all.push_back(downloaded(t, w.value));
  return all;
}

void set_weights(Transformer& t, const WeightBytes& bytes) {
  std::size_t i = 0;
  for (const Parameter& w : t.weights().all()) {
    t.backend().upload(w.value->data(), bytes[i].data(), w.value->bytes());
    ++i;
  }
}

void save_checkpoint(const std::string& path, Transformer& t, const CheckpointCard& card, const WeightBytes* best) {
  const Precision& p = precision_of(t.backend());
  TensorCollector all;
  add_weights(all, t, p, best);
  add_state(all, t, p);
  const auto tokenizer = std::as_bytes(std::span(card.tokenizer));
  all.add("tokenizer", "U8", {static_cast<Count>(tokenizer.size())}, {tokenizer.begin(), tokenizer.end()});
  Metadata metadata = texts(card, p);
  Checksum sum;
  sum.add(metadata);
  for (const StoredTensor& s : all.tensors()) {
    sum.add(s.name, s.dtype, s.shape);
    sum.add(s.bytes);
  }
  metadata["checksum"] = sum.text();
  write_safetensors(path, all.tensors(), metadata);
}

// ---- Reading

TrainingCheckpoint::TrainingCheckpoint(const std::string& path) : file_(path) {
  read_texts();
  check_tensors();
  check_checksum();
  read_tokenizer();
}

void TrainingCheckpoint::read_texts() {
  const std::string& path = file_.path();
  if (!file_.metadata().contains(std::string(format_key)))
    throw InputError(
        fmt::format("'{}' is not an llmcalc checkpoint: \"__metadata__\" has no {}; pass a file written by 'llmcalc "
                    "learn', or the folder of a downloaded model",
                    path, in_quotes(format_key)));
  if (const std::string& found = file_.text(std::string(format_key)); found != format_number)
    throw InputError(
        fmt::format("'{}': {} is {}, but only {} is supported; it is damaged or was written by a later llmcalc", path,
                    in_quotes(format_key), in_quotes(found), in_quotes(format_number)));
  const std::string model = path + ", \"model\"", training = path + ", \"training\"";
  card_.model = read_model_file(json::parse(file_.text("model"), model), model);
  const std::string& precision = file_.text("precision");
  const auto* p =
      std::find_if(precisions.begin(), precisions.end(), [&](const auto& q) { return q.name == precision; });
  if (p == precisions.end())
    throw InputError(
        fmt::format("'{}', \"precision\": expected fp32, bf16 or fp64, got {}", path, in_quotes(precision)));
  number_ = p->number;
  const json::Value v = json::parse(file_.text("training"), training);
  read_progress(json::Object(v, training));
}

void TrainingCheckpoint::read_progress(const json::Object& training) {
  TrainingProgress& g = card_.progress;
  g.updates = training.count("updates");
  g.micro_batches = training.count("micro_batches");
  g.tokens = training.count("tokens");
  if (training.has("loss")) g.loss = training.number_or("loss", 0);
  if (training.has("validation_loss")) g.validation_loss = training.number_or("validation_loss", 0);
  card_.settings = training.object("settings").value();
}

/// Checks that every tensor belongs to the model and has the right shape, and that each kind of tensor is complete.
void TrainingCheckpoint::check_tensors() {
  const auto of_number = [&](const Precision& p) { return p.number == number_; };
  const Precision& p = *std::find_if(precisions.begin(), precisions.end(), of_number);
  const std::vector<ParameterShape> shapes = parameter_shapes(card_.model.arch);
  std::set<std::string, std::less<>> known{"tokenizer"};
  const auto check = [&](const std::string& prefix, std::string_view dtype) {
    for (const ParameterShape& s : shapes) {
      file_.entry(prefix + s.name, dtype, stored_shape(s));
      known.insert(prefix + s.name);
    }
  };
  check("", p.stored);
  const auto& tokenizer = file_.entry("tokenizer");
  file_.entry("tokenizer", "U8", std::vector<Count>{tokenizer.bytes.value});
  const auto there = [&](const std::string& prefix) {
    const auto& all = file_.entries();
    return std::any_of(all.begin(), all.end(), [&](const auto& e) { return e.name.starts_with(prefix); });
  };
  if (there(last_prefix)) check(last_prefix, p.stored);
  has_moments_ = there(first_prefix);
  for (const char* prefix : {master_prefix, first_prefix, second_prefix})
    if (there(prefix)) check(prefix, p.wide);
  for (const auto& e : file_.entries())
    if (!known.contains(e.name))
      throw InputError(fmt::format(
          "'{}', tensor {}: the file's \"model\" has no such tensor; it is damaged or was written by another program",
          file_.path(), in_quotes(e.name)));
}

void TrainingCheckpoint::check_checksum() {
  Checksum sum;
  sum.add(file_.metadata());
  for (const auto& e : file_.entries()) {
    sum.add(e.name, e.dtype, e.shape);
    sum.add(file_.bytes(e));
  }
  if (sum.text() != file_.text("checksum"))
    throw InputError(
        fmt::format("'{}': \"checksum\" does not match the tensors and texts; the file is damaged", file_.path()));
}

void TrainingCheckpoint::read_tokenizer() {
  const auto& e = file_.entry("tokenizer");
  const std::vector<std::byte> bytes = file_.bytes(e);
  card_.tokenizer.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  tokenizer_ = loaded_tokenizer(card_.tokenizer, file_.path());
  if (tokenizer_->vocabulary() > card_.model.arch.vocabulary)
    throw InputError(fmt::format("'{}': the tokenizer has {} tokens but \"model\" has {}; they do not match",
                                 file_.path(), tokenizer_->vocabulary(), card_.model.arch.vocabulary));
}

std::vector<std::pair<std::string, Tensor>> TrainingCheckpoint::state(const Parameter& p) {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const auto& [prefix, tensor] :
       {std::pair{master_prefix, p.master}, std::pair{first_prefix, p.first}, std::pair{second_prefix, p.second}})
    if (tensor) all.emplace_back(prefix + p.shape.name, tensor);
  return all;
}

void TrainingCheckpoint::upload(Transformer& t, const std::string& name, const Tensor& to) const {
  const std::vector<std::byte> bytes = file_.bytes(file_.entry(name));
  if (Bytes(static_cast<Count>(bytes.size())) != to->bytes())
    throw std::logic_error("the checkpoint does not match the model's architecture");
  t.backend().upload(to->data(), bytes.data(), to->bytes());
}

void TrainingCheckpoint::load(Transformer& t, const OnLoaded& loaded) const {
  OnLoadedBytes so_far(t, loaded);
  for (const Parameter& w : t.weights().all()) {
    upload(t, w.shape.name, w.value);
    so_far.add(w);
  }
}

std::vector<std::int32_t> TrainingCheckpoint::ends() const {
  const auto end = tokenizer_->end_of_text();
  return end ? std::vector{*end} : std::vector<std::int32_t>();
}

void TrainingCheckpoint::resume(Transformer& t) const {
  for (const Parameter& w : t.weights().all())
    for (const auto& [name, tensor] : state(w)) file_.entry(name);  // all must exist before any is loaded
  for (const Parameter& w : t.weights().all()) {
    upload(t, (file_.has(last_prefix + w.shape.name) ? last_prefix : "") + w.shape.name, w.value);
    for (const auto& [name, tensor] : state(w)) upload(t, name, tensor);
  }
  t.set_updates(card_.progress.updates);
  t.settings().steps = static_cast<std::uint64_t>(card_.progress.micro_batches);
}

}  // namespace llmcalc::model
