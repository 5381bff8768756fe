#pragma once
/// The factors of the suite, by name.

#include "validate/suite.hpp"

namespace llmcalc::validate {

/// The factors, in the order of factors().
enum Which : std::size_t {
  attention,
  window,
  qk_norm,
  sinks,
  norm,
  placement,
  mlp,
  activation,
  experts,
  position,
  biases,
  head,
  embedding,
  precision,
  core,
  softmax_store,
  glu_store,
  statistics,
  dropout,
  recompute,
  optimizer,
  mla,
  cache,
  logits,
  middle_layer,
  chunk,
  gate,
  last_layer,
  streams,
  stack,
  keys,
  further,
  weight_format,
  cache_format,
  states,
  documents,
  gradients,
  repeats,
  sub_norms,
  trained
};

/// The plan of a choice.
Plan make_plan(const LevelChoice& c);

inline bool is_latent(const LevelChoice& c) { return c[attention] == 3 || c[attention] == 4; }
inline bool is_relative(const LevelChoice& c) { return c[position] == 5 || c[position] == 6; }
inline bool is_encoder(const LevelChoice& c) { return c[stack] == 1 || c[stack] == 2; }
/// Whether the model is RWKV-5 or -6, whose MLPs have a receptance gate.
inline bool has_receptance(const LevelChoice& c) { return c[middle_layer] >= 12; }
inline bool is_encoder_decoder(const LevelChoice& c) { return c[stack] == 3; }

}  // namespace llmcalc::validate
