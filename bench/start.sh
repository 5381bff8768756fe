#!/usr/bin/env bash
# One query as the shell sees it: start, read the presets, answer, exit. Needs hyperfine and a release build. Goal:
# under 10 ms each; printed, not enforced.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

llmcalc=${1:-build/release/cli/llmcalc}
hyperfine --shell=none --warmup 20 --min-runs 100 \
  "$llmcalc params llama-3.1-405b" \
  "$llmcalc train llama-3.1-405b --hardware h100 --tp 8" \
  "$llmcalc infer llama-3.1-405b --hardware h100 --tp 8" \
  "$llmcalc report llama-3.1-405b --hardware h100 --tp 8" \
  "$llmcalc list models" \
  "$llmcalc explain" \
  "$llmcalc check"
