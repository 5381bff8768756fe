#pragma once
/// The heads of an encoder (BERT: arXiv:1810.04805, hf bert/modeling_bert.py). Their dense layers are replicated on
/// every rank.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// Adds an encoder's outputs for the first token of each sequence: tanh of a dense layer, and two logits for a pair of
/// sentences. Their loss is not counted.
void add_pooled(SegmentBuilder& builder);

/// The dense layer, activation and norm before the logits of masked tokens (BertPredictionHeadTransform). Logits of all
/// positions follow, as in Hugging Face's transformers.
TensorId transformed(SegmentBuilder& builder, TensorId x, Count rows);

}  // namespace llmcalc
