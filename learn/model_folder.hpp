#pragma once
/// A folder in the layout of Hugging Face checkpoints: config.json; model.safetensors, or shards with
/// model.safetensors.index.json; tokenizer.json or tokenizer.model; optionally generation_config.json.

#include <deque>
#include <map>

#include "learn/safetensors.hpp"
#include "learn/tensor_names.hpp"
#include "learn/trained_model.hpp"

namespace llmcalc::model {

/// Whether `path` is a folder with a config.json and safetensors.
bool holds_weights(const std::string& path);

class ModelFolder final : public TrainedModel {
 public:
  /// Reads the config and the headers of all files. Throws InputError for an unsupported family, convention or format,
  /// and for a tensor that is missing, misshaped or unknown to the model.
  explicit ModelFolder(const std::string& path);

  const ModelCard& model() const override { return card_; }
  const Numerics& numerics() const override { return numerics_; }
  /// bf16 if all weights are stored in bf16, else float32, which represents every float16 value exactly.
  Number number() const override;
  const Tokenizer& tokenizer() const override;
  std::vector<std::int32_t> ends() const override;
  Count longest() const override;
  /// Reads weights one by one, in blocks. A weight that is stored transposed is transposed in memory.
  void load(Transformer& t, const OnLoaded& loaded = {}) const override;

 private:
  using Entry = SafetensorsFile::Entry;
  /// A tensor and the file that contains it.
  struct Stored {
    const SafetensorsFile* file = nullptr;
    const Entry* entry = nullptr;
  };

  void open_files();
  void add(const SafetensorsFile& file);
  void find_prefix();
  void refuse_others() const;
  const Stored& stored(std::string_view weight, Count expert = 0) const;
  void check(const ParameterShape& shape, Count expert) const;
  /// Calls f(shape, expert) for every tensor that stores a weight or one expert's part of it.
  void each_weight(const std::function<void(const ParameterShape&, Count)>& f) const;
  void load(Transformer& t, Parameter& p, Count expert) const;
  void load_coded(Transformer& t, Parameter& p) const;
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  std::string path_;
  ModelCard card_;
  Numerics numerics_;
  const NameTable* names_ = nullptr;
  std::string prefix_;
  std::deque<SafetensorsFile> files_;
  std::map<std::string, Stored, std::less<>> tensors_;
  mutable std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace llmcalc::model
