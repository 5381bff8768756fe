#pragma once
/// A trained model on disk: an llmcalc checkpoint, or a folder with the layout of Hugging Face checkpoints.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "learn/tokens/tokenizer.hpp"
#include "model/transformer.hpp"
#include "presets/model_card.hpp"

namespace llmcalc::model {

/// Called with the bytes that are loaded so far, and all of them.
using OnLoaded = std::function<void(Bytes done, Bytes all)>;

/// Tells how many bytes of a model's weights are loaded, weight by weight.
class OnLoadedBytes {
 public:
  OnLoadedBytes(Transformer& t, const OnLoaded& loaded) : loaded_(loaded) {
    for (const Parameter& p : t.weights().all()) all_ += p.value->bytes();
  }
  void add(const Parameter& p) {
    done_ += p.value->bytes();
    if (loaded_) loaded_(done_, all_);
  }

 private:
  const OnLoaded& loaded_;
  Bytes done_, all_;
};

class TrainedModel {
 public:
  virtual ~TrainedModel() = default;

  virtual const ModelCard& model() const = 0;
  virtual const Numerics& numerics() const = 0;
  /// The format to run it in.
  virtual Number number() const = 0;
  /// Throws InputError where there is none that this program reads.
  virtual const Tokenizer& tokenizer() const = 0;
  /// The tokens that end a text.
  virtual std::vector<std::int32_t> ends() const = 0;
  /// The tokens of the longest text that it was trained for; 0: nothing bounds it.
  virtual Count longest() const = 0;
  /// Loads the weights to generate with. The model must be of this architecture.
  virtual void load(Transformer& t, const OnLoaded& loaded) const = 0;
};

/// A plan of one sequence in the format that it runs in.
Plan plan_of(const TrainedModel& m);

/// The model at `path`: a file that 'llmcalc learn' wrote, or a folder that holds a config.json and safetensors. All of
/// it is checked before anything is loaded; every mistake is an InputError that names the file and what is wrong.
std::unique_ptr<TrainedModel> trained_model(const std::string& path);

}  // namespace llmcalc::model
