#pragma once
/// The request of 'llmcalc learn': text, model, tokenizer and run, with every default settled.

#include <array>
#include <memory>

#include "cli/arguments.hpp"
#include "cli/place.hpp"
#include "learn/learner.hpp"

namespace llmcalc {

inline constexpr std::array learn_options{
    Option{"--out", "FILE", "the checkpoint [FILE's name with .safetensors, here]"},
    Option{"--model", "MODEL",
           "a preset or a file, with the text's vocabulary [a Llama of 0.9 M parameters, from 1 MB of text on 2 M]"},
    Option{"--steps", "N", "updates of the weights [8 times through the text, 500 to 3000]"},
    Option{"--minutes", "T", "ends the run after T minutes [the steps end it]"},
    Option{"--batch", "N", "sequences per step [4]"},
    Option{"--seq", "N", "tokens per sequence [128]"},
    Option{"--rate", "R", "learning rate at its highest [0.003]"},
    Option{"--tokenizer", "bytes|bpe", "what a token is [bpe from 100 KB on, else bytes]"},
    Option{"--vocabulary", "N", "tokens of bpe, at most [one for 320 bytes of text, 384 to 1024]"},
    Option{"--precision", "fp32|bf16", "weights and activations; bf16 keeps fp32 master weights [fp32; bf16 on a GPU]"},
    Option{"--seed", "N", "of the first weights and the batches [1]"},
    Option{"--device", "cpu|cuda|cuda:N", "where it learns [cpu]"},
    Option{"--resume", "", "continue from the checkpoint where it stopped"},
};

struct LearnRequest {
  std::string text_path, text, out;
  ModelCard model;
  std::shared_ptr<const model::Tokenizer> tokenizer;
  DType precision = dtypes::fp32;
  model::LearningSettings settings;
  double minutes = 0;       ///< 0: the steps alone end it
  bool by_minutes = false;  ///< the minutes alone end it
  std::vector<std::string> notes;
  std::unique_ptr<model::Checkpoint> resumed;
  validate::Where where;

  model::Number number() const { return precision == dtypes::bf16 ? model::Number::bf16 : model::Number::f32; }
  /// The part that a checkpoint stores: the run's settings and the fingerprint of the text.
  json::Value settings_json() const;
};

/// Throws InputError for every impossible request, before anything large is allocated or learnt.
LearnRequest settled(const Arguments& typed);

}  // namespace llmcalc
