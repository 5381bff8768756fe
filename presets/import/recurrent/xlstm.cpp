#include <fmt/format.h>

#include <cmath>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// `width` times the factor under `key`, rounded up to a multiple of `multiple`.
Count share(const Config& c, std::string_view key, double otherwise, Count width, Count multiple) {
  const double whole = static_cast<double>(width) * c.number(key, otherwise);
  if (!(whole >= 1 && whole < 1e9)) c.refuse(fmt::format("\"{}\" must result in a width of 1 to 10^9", key));
  return mul(ceil_div(static_cast<Count>(std::ceil(whole)), multiple), multiple);
}

/// Width of a head. Throws InputError unless the heads divide `width` evenly.
Count width_of_head(const Config& c, Count width, Count heads) {
  if (width % heads != 0)
    c.refuse(fmt::format("\"num_heads\": {} heads do not divide a width of {} evenly", heads, width));
  return width / heads;
}

/// hf xlstm/modeling_xlstm.py: an RMSNorm, an mLSTM (queries and keys of qk_dim_factor x hidden, values of
/// v_dim_factor x hidden, in multiples of mlstm_round_up_to_multiple_of, gates with biases regardless of use_bias),
/// an RMSNorm, a gated MLP of ffn_proj_factor x hidden in multiples of ffn_round_up_to_multiple_of. Fusing matrices
/// (weight_mode) does not change the parameters. States are float32. The context is unlimited, but the model was
/// trained on 8192 tokens (arXiv:2503.13427).
Arch xlstm(const Config& c, const Defaults& d) {
  Arch a = sized_arch(c, d);
  if (c.flag("use_bias", false)) c.refuse("\"use_bias\" is true; xLSTM projections with biases are not supported");
  for (const char* key : {"add_qk_norm", "add_post_norm"})
    if (c.flag(key, false)) c.refuse(fmt::format("\"{}\" is true; such norms are not supported", key));
  c.ignore({"add_embedding_dropout", "add_forward_backend_padding", "add_post_blocks_norm", "autocast_kernel_dtype",
            "cell_norm_eps", "chunkwise_kernel", "eps", "force_bos_token_insert", "gate_soft_cap", "head_dim",
            "igate_bias_init_range", "max_inference_chunksize", "mode", "norm_reduction_force_float32",
            "output_logit_soft_cap", "return_last_states", "sequence_kernel", "step_kernel", "weight_mode"});
  const Count heads = c.size("num_heads", 8), multiple = c.size("mlstm_round_up_to_multiple_of", 64);
  a.attention = AttentionKind::none;
  a.recurrent = {.kind = RecurrentKind::mlstm,
                 .heads = heads,
                 .head_dim = width_of_head(c, share(c, "v_dim_factor", 1, a.hidden, multiple), heads),
                 .key_heads = heads,
                 .key_dim = width_of_head(c, share(c, "qk_dim_factor", 0.5, a.hidden, multiple), heads),
                 .chunk = c.size("chunk_size", 64),
                 .state_bytes = c.text("inference_state_dtype", "float32") == "float32" ? 4 : 2};
  a.norm = NormKind::rms_norm;
  a.final_norm = c.flag("add_out_norm", true);
  a.mlp = MlpKind::gated;
  a.activation = Activation::silu;
  a.mlp_width = share(c, "ffn_proj_factor", 2.667, a.hidden, c.size("ffn_round_up_to_multiple_of", 64));
  a.position = Position::none;
  return a;
}

}  // namespace

std::vector<Family> xlstm_families() { return {{"xlstm", xlstm, {32, 4096, 0, 0, 0, 0, 50304, 8192}}}; }

}  // namespace llmcalc::import
