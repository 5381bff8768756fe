#pragma once
/// The engine's entry points with the layout last, since few tests vary it.

#include "calc/infer.hpp"
#include "calc/train.hpp"

namespace llmcalc::test {

inline TrainEstimate train(const Arch& a, const Plan& p, const Cluster& c, const Layout& l = {}) {
  return llmcalc::train(a, p, l, c);
}
inline InferEstimate infer(const Arch& a, const Plan& p, const Cluster& c, const Layout& l = {}) {
  return llmcalc::infer(a, p, l, c);
}
inline PassEstimate prefill(const Arch& a, const Plan& p, const Cluster& c, Count tokens, const Layout& l = {}) {
  return llmcalc::prefill(a, p, l, c, tokens);
}
inline PassEstimate decode(const Arch& a, const Plan& p, const Cluster& c, Count context, const Layout& l = {}) {
  return llmcalc::decode(a, p, l, c, context);
}

/// Forward FLOPs of cores, head and other matrices, under any pricing.
inline Work forward_work(const Arch& a, const Step& step, const Pricing& p, const Layout& l = {}) {
  Work w;
  for_each_operator(a, {}, l, step, [&](const OperatorRow& row) {
    Flops& part = reads_past(row.op.shape) ? w.core : row.op.component == Component::lm_head ? w.head : w.linear;
    part += row.segment.repeats * forward(row.op, p).model;
  });
  return w;
}

}  // namespace llmcalc::test
