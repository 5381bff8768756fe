"""Peers of llmcalc: programs that answer some of the same questions, each timed in turns with it on the same question.

Times are CPU seconds, except PyTorch's, and each figure is that of the best round. scripts/bench --peers runs them. A peer
is a package or in a folder that the user names; nothing is downloaded or built.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys

from large_headers import json_seconds, write_both

BENCH = os.path.dirname(os.path.abspath(__file__))
REQUESTS, RATE = 3000, 20  # of the simulated server
GPUS, BATCH = 64, 1536  # of the search that llm-cluster-simulator runs


class Absent(Exception):
    """No comparison is possible; the text gives the remedy."""


def cpu(*command, **options):
    """CPU seconds of a command and its children, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, said.stdout


class Bench:
    def __init__(self, build, folder, rounds, scratch):
        self.build, self.folder, self.rounds, self.scratch = build, folder, rounds, scratch
        self.llmcalc = os.path.join(build, "cli", "llmcalc")
        self.headers = None

    def header_files(self):
        self.headers = self.headers or write_both(self.scratch)
        return self.headers

    def find(self, path, remedy):
        """A file of the user's folder."""
        found = os.path.join(self.folder or "", path)
        if self.folder and os.path.exists(found):
            return found
        raise Absent(f"not found: {remedy} {self.folder or 'a folder, and name it with --folder'}")

    def row(self, work, unit, figures):
        """The best of the rounds' pairs (llmcalc, peer)."""
        best = min if unit == "s" else max
        ours, theirs = (best(side) for side in zip(*figures))
        ratio = theirs / ours if unit == "s" else ours / theirs
        return {"work": work, "unit": unit, "llmcalc": ours, "peer": theirs, "ratio": ratio, "rounds": figures}

    def in_turns(self, work, unit, ours, theirs):
        return self.row(work, unit, [(ours(), theirs()) for _ in range(self.rounds)])

    def plans_per_second(self, model, gpus, batch):
        question = f"plan train {model} --hardware a100-sxm-80gb --gpus {gpus} --global-batch {batch} --json"
        seconds, said = cpu(self.llmcalc, *question.split())
        searched = json.loads(said)["searched"]
        return (searched["fit"] + searched["too_large"]) / seconds

    def node_rate(self, *arguments, runner=()):
        """Items per CPU second that peers.mjs counts."""
        if not shutil.which("node"):
            raise Absent("not found: install Node.js (Debian: nodejs)")
        said = json.loads(cpu("node", *runner, os.path.join(BENCH, "peers.mjs"), *map(str, arguments))[1])
        return said["items"] / said["seconds"]


def python_json(b):
    file, _ = b.header_files()
    ours = lambda: cpu(b.llmcalc, "params", file)[0]
    return b.in_turns("safetensors header, 10^5 tensors", "s", ours, lambda: json_seconds(file, 1))


def gguf_parser(b):
    program = shutil.which("gguf-parser") or b.find("gguf-parser", "put the program gguf-parser in PATH or")
    _, file = b.header_files()
    ours = lambda: cpu(b.llmcalc, "params", file)[0]
    theirs = lambda: cpu(program, "--path", file, "--skip-estimate", "--json")[0]
    return b.in_turns("GGUF header, 10^5 tensors", "s", ours, theirs)


def python_with(*modules):
    """A Python that has the modules."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run((python, "-c", f"import {', '.join(modules)}"), stderr=subprocess.DEVNULL).returncode == 0:
            return python
    packages = " ".join(f"python3-{m}" for m in modules)
    raise Absent(f"not found: install Python's {' and '.join(modules)} (Debian: {packages})")


def calculon(b):
    """Without a second memory, which llmcalc tries only if no plan fits, and without overlap, which both have as options."""
    folder = os.path.dirname(os.path.dirname(b.find("calculon/bin/calculon", "put calculon-ai/calculon in")))
    python = python_with("pandas", "psutil")
    with open(os.path.join(folder, "systems", "a100_80g.json"), encoding="utf-8") as file:
        system = json.load(file)
    system["mem2"]["GiB"] = 0
    with open(os.path.join(b.scratch, "system.json"), "w", encoding="utf-8") as file:
        json.dump(system, file)
    search = ["llm-optimal-execution", "models/gpt3-13B.json", "4", "4", "float16", file.name, f"{b.scratch}/best.json"]
    search += ["--cpus", "1", "--no-tp-overlap", "--no-dp-overlap"]

    def theirs():
        seconds, said = cpu(python, "-B", "bin/calculon", *search, cwd=folder, env={**os.environ, "PYTHONPATH": "."})
        return int(re.search(r"Total executions: (\d+)", said)[1]) / seconds

    return b.in_turns("search: GPT-3 13B, 4 A100, batch 4", "plans/s", lambda: b.plans_per_second("gpt-3-13b", 4, 4), theirs)


def cluster_simulator(b):
    """Its search ends after 5,000 simulations."""
    name = "llm-cluster-simulator"
    b.find(f"{name}/src/core/simulation/optimizer.ts", f"put zhebrak/{name} in")
    tsx = b.find("node_modules/tsx/dist/cli.mjs", "run 'npm install tsx' in")
    ours = lambda: b.plans_per_second("gpt-3-175b", GPUS, BATCH)
    theirs = lambda: b.node_rate(name, b.folder, GPUS, BATCH, runner=(tsx,))
    return b.in_turns(f"search: GPT-3 175B, {GPUS} A100, batch {BATCH}", "plans/s", ours, theirs)


def inference_lab(b):
    name = "@doublewordai/inference-lab"
    b.find(f"node_modules/{name}/package.json", f"run 'npm install {name}' in")
    question = f"serve llama-3.1-8b --hardware h100 --rate {RATE} --num-requests {REQUESTS}"
    question += " --prompt 500 --generate 200 --max-seqs 256"
    ours = lambda: REQUESTS / cpu(b.llmcalc, *question.split())[0]
    theirs = lambda: b.node_rate("inference-lab", b.folder, REQUESTS, RATE)
    return b.in_turns(f"server: Llama-3.1 8B, H100, {REQUESTS} requests", "requests/s", ours, theirs)


def pytorch(b):
    command = (os.path.join(BENCH, "torch-train"), "--rounds", str(b.rounds), "--build", b.build)
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if said.returncode == 2:
        raise Absent("not compared: " + said.stderr.strip().split(": ", 1)[1])
    said.check_returncode()
    found = json.loads(said.stdout)
    return b.row(f"training GPT-2 124M on the CPU ({found['core']})", "tokens/s", found["rounds"])


PEERS = {
    "Python's json": python_json,
    "gguf-parser": gguf_parser,
    "calculon": calculon,
    "llm-cluster-simulator": cluster_simulator,
    "inference-lab": inference_lab,
    "PyTorch": pytorch,
}
