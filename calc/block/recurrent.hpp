#pragma once
/// Recurrences as operators: projections, depthwise convolutions, state update, gate, output projection. Checkpoints
/// that fuse some of the projections have the same parameters. The convolutions over queries, keys and values run in
/// one kernel but are separate operators here, because each is sharded by whole heads.
///
///   gated DeltaNet   arXiv:2412.06464, hf qwen3_next/modeling_qwen3_next.py
///   KDA              arXiv:2510.26692, hub moonshotai/Kimi-Linear-48B-A3B-Base, modeling_kimi.py
///   Mamba-1          arXiv:2312.00752, hf mamba/modeling_mamba.py; with heads: hub pfnet/plamo-2-1b, modeling_plamo.py
///   Mamba-2          arXiv:2405.21060, hf nemotron_h, granitemoehybrid, falcon_h1
///   RWKV-7           arXiv:2503.14456, fla-org/flash-linear-attention, layers/rwkv7.py
///   RG-LRU           arXiv:2402.19427, hf recurrent_gemma/modeling_recurrent_gemma.py
///   RWKV-5, RWKV-6   arXiv:2404.05892, hub RWKV/rwkv-5-world-1b5 and rwkv-6-world-1b6, modeling_rwkv5.py, _rwkv6.py
///   mLSTM            arXiv:2405.04517, hf xlstm/modeling_xlstm.py
///   short convolution  hf lfm2/modeling_lfm2.py

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// The layer's recurrence (Mixer::recurrent) on x (tokens, hidden); the result has the same width.
TensorId recurrence(SegmentBuilder& b, const LayerKind& kind, TensorId x);

}  // namespace llmcalc
