#include "report/explain/modules.hpp"

#include "calc/textbook/mtp.hpp"

namespace llmcalc::explain {

ModuleFormulas::ModuleFormulas(const Setting& s, Count ranks) : s_(s), model_(textbook::module_model(s.arch())) {
  own_.push_back({"n_p", "MTP modules of the model", number_text(s.arch().mtp.modules)});
  own_.push_back({"n_u", "MTP modules in use (--mtp)", number_text(s.plan().mtp)});
  sizes_ = textbook::sizes<Expr>(model_, ranks, [&](const char* name, Count value) {
    if (name[0] == 'L' || value == 0) return Expr(value);  // a module's layer counts are 0 or 1
    if (s.letter(name) == value) return Expr(name, value);
    const std::string letter = std::string(name) + "_p";
    const auto known = symbol(s, Subject::training, name);
    own_.push_back({letter, (known ? known->meaning : std::string(name)) + ", of an MTP module", number_text(value)});
    return Expr(letter, value);
  });
}

Expr ModuleFormulas::parameters() const {
  return textbook::module_parameters(model_, sizes_, s_.arch().mtp.own_embedding);
}

Expr ModuleFormulas::parameters_for_tokens() const {
  const auto whole = [](const textbook::Weight<Expr>& w) { return w.place != textbook::Place::cut; };
  return textbook::parameters_of(model_, sizes_, whole) + textbook::module_input_parameters(model_, sizes_);
}
Expr ModuleFormulas::parameters_for_heads() const {
  return textbook::parameters_of(model_, sizes_,
                                 [](const textbook::Weight<Expr>& w) { return w.place == textbook::Place::shared; });
}

Expr ModuleFormulas::flops() const {
  const Expr t = s_.tokens();
  const Expr matrices = textbook::matmul_weights(model_, sizes_) + (sizes_.n_h + Expr(1)) * sizes_.D * sizes_.D;
  const Expr core = textbook::over_parts(sizes_, [&](const textbook::Sizes<Expr>& part) {
    return textbook::core_width(part, s_.plan().mla == Mla::absorbed) * s_.micro_batch() *
               textbook::layer_pairs(part, s_.plan().attention_flops, s_.seq(), s_.seq()) +
           textbook::index_flops(part, s_.plan().attention_flops, s_.micro_batch(), s_.seq(), s_.seq(), false);
  });
  return Expr(2) * t * matrices + core + textbook::linear_attention_flops(sizes_, s_.micro_batch(), s_.seq());
}

Formula ModuleFormulas::formula(const Expr& e) const { return {e.text(), own_}; }

}  // namespace llmcalc::explain
