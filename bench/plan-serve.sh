#!/usr/bin/env bash
# 'llmcalc plan serve' over all devices and layouts: finds hardware that serves a load within limits. Goal: 5 s of CPU
# time on one core; printed, not enforced. Needs a release build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

llmcalc=${1:-build/release/cli/llmcalc}
goal=5
TIMEFORMAT='%U %S'
questions=(
  'llama-3.1-70b --rate 20'
  'llama-3.1-8b --rate 20'
  'mixtral-8x7b --rate 20'
  'gpt-oss-120b --rate 20'
  'llama-3.1-70b --users 100 --prompt 4k --think-time 30s'
  'llama-3.1-70b --rate 20 --turns 4 --lengths lognormal:1 --percentile 99'
  'llama-3.1-8b --rate 5000'
)
for question in "${questions[@]}"; do
  read -ra words <<<"$question"
  taken=$({ time "$llmcalc" plan serve "${words[@]}" --hardware any --slo-ttft 500ms --slo-tpot 33ms >/dev/null 2>&1; } 2>&1)
  awk -v question="$question" -v goal="$goal" '{ s = $1 + $2; printf "%-72s %5.2f s of %d s: %.2f of the goal\n", question, s, goal, s / goal }' <<<"$taken"
done
