#include "calc/layout.hpp"

namespace llmcalc {

Count ranks(const Layout& l, Group g) {
  switch (g) {
    case Group::tensor:
      return l.tp;
    case Group::context:
      return l.cp;
    case Group::expert:
      return l.ep;
    case Group::expert_tensor:
      return l.etp;
    case Group::pipeline:
      return l.pp;
    case Group::data:
      return l.dp;
    case Group::expert_data:
      return mul(l.tp, l.cp, l.dp) / mul(l.ep, l.etp);
  }
  return 1;
}

Count stride(const Layout& l, Group g) {
  switch (g) {
    case Group::tensor:
    case Group::expert_tensor:
      return 1;
    case Group::context:
      return l.tp;
    case Group::expert:
      return l.etp;
    case Group::data:
      return mul(l.tp, l.cp);
    case Group::expert_data:
      return mul(l.ep, l.etp);
    case Group::pipeline:
      return mul(l.tp, l.cp, l.dp);
  }
  return 1;
}

LayoutFlaw flaw(const Arch& arch, const Layout& l) {
  if (arch.heads % l.tp != 0) return LayoutFlaw::heads;
  if (l.sp && l.tp == 1) return LayoutFlaw::sequence_of_one;
  return LayoutFlaw::none;
}

}  // namespace llmcalc
