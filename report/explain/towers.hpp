#pragma once
/// Bytes of towers for images and sounds beside a model.

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

inline constexpr std::string_view tower_sources =
    "huggingface/transformers: quantised checkpoints leave towers in 16 bits; the checkpoint's header";
inline constexpr std::string_view tower_convention =
    "16 bits each, or as a checkpoint's header says; whole on every rank that has the token table; none with "
    "--no-towers, and of llama.cpp";

inline Formula tower_bytes(const Setting& s) {
  const Towers& t = s.request().model.towers;
  if (s.plan().towers == Bytes()) return {"0"};
  if (t.held) return {"M_tow", {{"M_tow", "bytes of their tensors in the header", number_text(t.held->value)}}};
  return {"2*(N_vis + N_aud + N_proj)",
          {{"N_vis", "parameters of the vision tower", number_text(t.vision)},
           {"N_aud", "parameters of the audio tower", number_text(t.audio)},
           {"N_proj", "parameters of the projector", number_text(t.projector)}}};
}

}  // namespace llmcalc::explain
