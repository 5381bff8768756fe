#!/usr/bin/env python3
"""Answers and rows per second of the Python package: PYTHONPATH=build/release/bindings bench/python_bench.py

Goals on two cores: 10,000 whole answers a second, 100,000 rows a second with few fields. Prints rates by wall time and by
CPU time (two cores, if both were free), and never fails, since rates depend on the machine."""

import os
import time

import llmcalc


def measured(work):
    wall, cpu = time.perf_counter(), time.process_time()
    n = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return n / wall, 2 * n / cpu, 1e6 * cpu / n


def requests(command, n, **inputs):
    """Requests that differ in the sequence or prompt."""
    key = "prompt" if command == "infer" else "seq"
    varied = [{**inputs, **({} if command == "params" else {key: 1024 + i})} for i in range(n)]
    base = {"command": command, "model": "llama-3.1-8b", **({} if command == "params" else {"hardware": "h100"})}
    return [{**base, "inputs": v} for v in varied]


def answers(command, n, **inputs):
    def work():
        found = llmcalc.ask_many(requests(command, n, **inputs))
        assert not any(isinstance(a, llmcalc.InputError) for a in found)
        return len(found)

    return work


def rows(command, n, key, fields, **inputs):
    def work():
        found = llmcalc.sweep(command, "llama-3.1-8b", hardware="h100", ranges={key: f"1..{n}"}, fields=fields, **inputs)
        assert all(row["error"] is None for row in found)
        return len(found)

    return work


def points(n):
    def work():
        all_points = [{"micro_batch": 1 + i % 7, "seq": 1000 + i} for i in range(n)]
        return len(llmcalc.sweep("train", "llama-3.1-8b", hardware="h100", points=all_points, fields=["step.time_s"]))

    return work


CASES = {
    "answers: params": answers("params", 5000),
    "answers: memory --train, fits": answers("memory", 2000, train=True, tp=8, zero=3, dp=8),
    "answers: train --gpus 64 --tp 8, fits": answers("train", 2000, gpus=64, tp=8),
    "answers: train --gpus 64, does not fit": answers("train", 2000, gpus=64),
    "answers: infer": answers("infer", 2000),
    "rows: train, 1 field": rows("train", 100000, "micro_batch", ["step.time_s"]),
    "rows: train, 3 fields": rows("train", 100000, "micro_batch", ["step.time_s", "step.mfu", "memory.peak_bytes"]),
    "rows: memory, 1 field": rows("memory", 100000, "micro_batch", ["memory.peak_bytes"], train=True),
    "rows: infer, 1 field": rows("infer", 100000, "batch", ["decode.tokens_per_s"]),
    "rows: train, points, 1 field": points(100000),
}

print(f"{'':40} {'per second':>12} {'2 free cores':>12} {'CPU us each':>12}")
for name, work in CASES.items():
    best = max(measured(work) for _ in range(3))
    print(f"{name:40} {best[0]:12,.0f} {best[1]:12,.0f} {best[2]:12.1f}", flush=True)
print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
