#include "calc/textbook/weights.hpp"
#include "report/explain/modules.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

template <Component c>
Formula component(S s) {
  return {textbook::parameters_of(s.arch(), s.sizes(), c).text()};
}
Expr all_of_them(S s) { return s.quantity("N", "parameters.total"); }
/// All parameters except the experts to which a token is not routed, for a specific number of active experts.
Formula visiting(S s, const Expr& visited) {
  return {(all_of_them(s) - textbook::idle_parameters(s.arch(), s.sizes(), visited)).text()};
}
Formula active(S s) {
  const Moe& m = s.arch().moe;
  return visiting(s, m.zero_experts > 0 ? Expr("k_r", m.top_k) : s.sizes().k);
}
Formula active_mean(S s) { return visiting(s, s.sizes().k); }
Formula active_least(S s) { return visiting(s, max(Expr(0), Expr("k_r", s.arch().moe.top_k) - s.sizes().n_I)); }
Formula matmul(S s) { return {textbook::matmul_weights(s.arch(), s.sizes()).text()}; }
Formula with_stored_head(S s) { return {(all_of_them(s) + s.sizes().V * s.sizes().D_e).text()}; }

Formula modules_beside(S s) {
  const ModuleFormulas module(s, 1);
  return module.formula(Expr("n_p", s.arch().mtp.modules) * module.parameters());
}

/// Parameters of the vision encoder. Its modules have no symbols, because the importer adds up their sizes.
Formula vision(S s) {
  return from_engine(s, "N_vis", "sum over the modules of the config's vision_config", "parameters.vision");
}
Formula audio(S s) {
  return from_engine(s, "N_aud", "sum over the modules of the config's audio_config", "parameters.audio");
}
Formula projector(S s) {
  return from_engine(s, "N_proj", "matrices and norms between the encoders and the text model", "parameters.projector");
}

Formula cross(S s) {
  return from_engine(s, "N_img",
                     "sum over the layers of the config's cross_attention_layers and rows of the token embedding",
                     "parameters.cross");
}

constexpr std::string_view counted = "trainable tensors; buffers and router correction biases are not parameters";
constexpr Definition parameter_table[] = {
    {"parameters.embedding", "parameters of the token embedding", "parameters", component<Component::embedding>,
     "includes projections to and from the hidden size, if any", "Goon (1.10), (2.2)"},
    {"parameters.position", "parameters of learned positions", "parameters", component<Component::position>,
     "rows of the table, once per model; RoPE, ALiBi and sinusoids have none", "Vaswani 2017 (arXiv:1706.03762)"},
    {"parameters.attention", "parameters of attention", "parameters", component<Component::attention>,
     "projections, biases, norms of queries and keys, sinks; keys and values have G heads",
     "Goon (1.2), (1.6), (2.2); GQA arXiv:2305.13245; MLA arXiv:2405.04434"},
    {"parameters.mlp", "parameters of MLPs", "parameters", component<Component::mlp>,
     "2 matrices, 3 if gated; router, experts, shared experts and gates", "Goon (1.8), (2.2); GLU arXiv:2002.05202"},
    {"parameters.norm", "parameters of norms", "parameters", component<Component::norm>,
     "LayerNorm 2 D, RMSNorm D; norms of the blocks and the embedding, and the final norm",
     "Goon (1.1); RMSNorm arXiv:1910.07467"},
    {"parameters.lm_head", "parameters of the head", "parameters", component<Component::lm_head>,
     "0 if tied to the token embedding", "Goon (1.10)"},
    {"parameters.total", "parameters", "parameters", fixed<"N_emb + N_pos + N_attn + N_mlp + N_norm + N_head">, counted,
     "Goon (2.2), without its O(V/DL) and O(1/D)"},
    {"parameters.active", "active parameters per token", "parameters", active,
     "all except routed experts that a token does not visit; includes table and head",
     "DeepSeek-V3 (arXiv:2412.19437)"},
    {"parameters.active_mean", "active parameters per token, mean", "parameters", active_mean,
     "assumes that all choices of the router are equally likely, so that k = ceil(k_r n_E / (n_E + n_I)) experts have "
     "weights",
     "LongCat-Flash (arXiv:2509.01322)", "experts that return their input"},
    {"parameters.active_least", "active parameters per token, minimum", "parameters", active_least,
     "the router chooses as many experts that return their input as possible", "LongCat-Flash (arXiv:2509.01322)",
     "experts that return their input"},
    {"parameters.non_embedding", "non-embedding parameters", "parameters", fixed<"N - N_emb - N_pos - N_head">,
     "excludes token embeddings, positions and head", "Kaplan 2020 (arXiv:2001.08361)"},
    {"parameters.matmul", "matmul weights per token", "parameters", matmul,
     "includes the head even if tied; excludes tables, vectors and idle experts",
     "forward FLOPs are twice this per token: Narayanan 2021 (arXiv:2104.04473)"},
    {"parameters.mtp", "parameters of MTP modules", "parameters", modules_beside,
     "per module a layer, two norms and a projection of 2 D to D; table and head if not shared; not in any other count",
     "DeepSeek-V3 (arXiv:2412.19437) 2.2", "a model with MTP modules"},
    {"parameters.vision", "parameters of the vision encoder", "parameters", vision,
     "patches, positions, blocks and norms, and a merger inside the encoder; counted separately, only in inference "
     "memory",
     "modeling code of huggingface/transformers or of the checkpoint", "a model with a vision encoder"},
    {"parameters.audio", "parameters of the audio encoder", "parameters", audio,
     "convolutions, positions, layers and norms; counted separately, only in inference memory",
     "modeling code of huggingface/transformers", "a model with an audio encoder"},
    {"parameters.projector", "parameters of the projector", "parameters", projector,
     "from the encoder's rows to the text model's, if outside the encoder; counted separately, only in inference "
     "memory",
     "modeling code of huggingface/transformers or of the checkpoint", "a model with a projector"},
    {"parameters.cross", "parameters of image-only layers", "parameters", cross,
     "attention to an image's rows, gates, MLP and norms, and rows of the token embedding for images; skipped for "
     "text; counted separately, only in inference memory",
     "modeling code of huggingface/transformers", "a model with image-only layers"},
    {"parameters.with_stored_head", "parameters of a file that also stores the tied head", "parameters",
     with_stored_head, counted, "published checkpoints", "a tied head"},
};

}  // namespace

std::span<const Definition> parameter_definitions() { return parameter_table; }

}  // namespace llmcalc::explain
