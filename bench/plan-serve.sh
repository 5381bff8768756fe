#!/usr/bin/env bash
# 'llmcalc plan serve' over all devices and layouts: which hardware serves 20 requests a second of Llama-3.1-70B within
# limits. Goal: 5 s, and processor time on one core is what counts; printed, never judged. Needs a release build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

llmcalc=${1:-build/release/cli/llmcalc}
goal=5
TIMEFORMAT='%U %S'
for model in llama-3.1-70b mixtral-8x7b; do
  taken=$({ time "$llmcalc" plan serve "$model" --hardware any --rate 20 --slo-ttft 500ms --slo-tpot 33ms >/dev/null 2>&1; } 2>&1)
  awk -v model="$model" -v goal="$goal" '{ s = $1 + $2; printf "%-14s %.2f s of %d s: %.2f of the goal\n", model, s, goal, s / goal }' <<<"$taken"
done
