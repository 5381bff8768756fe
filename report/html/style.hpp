#pragma once
/// Style sheet of HTML pages: light and dark themes, narrow screens, print on one column.

#include <string_view>

namespace llmcalc {

inline constexpr std::string_view page_style =
    R"(:root{color-scheme:light dark;--ink:#1b1b1b;--back:#fff;--faint:#d9d9d9;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#ececec;--back:#161616;--faint:#444;--bad:#ff8a80}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--back);margin:0 auto;padding:1rem;max-width:76rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
table{border-collapse:collapse;width:100%}td,th{padding:.18rem .5rem;border-bottom:1px solid var(--faint);vertical-align:top}
th{text-align:left;font-weight:600}td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0 0 1rem}dt{font-weight:600}dd{margin:0}
.bad{color:var(--bad)}.scroll{overflow-x:auto}summary{cursor:pointer}details p,details table{margin:.3rem 0 .6rem 1rem;width:auto}
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,34rem),1fr));gap:1rem}
figure{margin:0;border:1px solid var(--faint);padding:.5rem;border-radius:4px}figure svg{width:100%;height:auto}
figure details{font-size:.85rem}
@media print{body{font-size:10px;max-width:none;padding:0}:root{--ink:#000;--back:#fff}details:not([open])>:not(summary){display:none}
figure{break-inside:avoid}figure details{display:none}.charts{grid-template-columns:1fr 1fr}.more{display:none}h2{margin:.6rem 0 .2rem}}
)";

}  // namespace llmcalc
