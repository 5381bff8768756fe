#!/usr/bin/env python3
"""Validates the program's output and files against its schemas, with the package jsonschema (2020-12).

Answers to the commands of commands.txt and to random requests, errors included; requests made of answers; presets and
measurements. Files with an unknown key must be refused by both the schema and the reader.
"""

import glob
import json
import os
import random
import sys
import tempfile

from jsonschema import Draft202012Validator

from program import Session, error_of, printed

FOLDER = os.path.dirname(os.path.abspath(__file__))
UNKNOWN = "qqqqqqqqqqqq"
failures = []
schemas = {}


def fail(sentence):
    failures.append(sentence)
    print(f"schemas: {sentence}", file=sys.stderr)


def validator(name):
    if name not in schemas:
        schema = json.loads(printed(f"schema {name}"))
        Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"urn:llmcalc:schema:2:{name}", schema["$id"]
        schemas[name] = Draft202012Validator(schema)
    return schemas[name]


def conforms(value, name, what):
    errors = sorted(validator(name).iter_errors(value), key=lambda e: -len(e.path))
    if errors:
        fail(f"{what} violates {name}: at {list(errors[0].path)}: {errors[0].message[:300]}")


def check_commands():
    with open(os.path.join(FOLDER, "commands.txt"), encoding="utf-8") as lines:
        for command in lines.read().splitlines():
            conforms(json.loads(printed(f"{command} --json")), command.split()[0], command)
    for row in printed("sweep train gpt2 --hardware h100 --tp 1,2 --jsonl").splitlines():
        conforms(json.loads(row), "sweep", "sweep")


# ---- Random requests


def value_of(schema, r):
    if "enum" in schema:
        return r.choice(schema["enum"])
    if "boolean" in schema["type"]:
        return r.random() < 0.8
    texts = ["1", "on", "off", "bf16", "fp8", "1 s", "10 GB", "vllm", "x"]
    return r.choice(texts + ([1, 2, 4, 8, 64, 512, 2048, 0.5, -1] if "number" in schema["type"] else []))


def random_request(forms, models, devices, r):
    form = r.choice(forms)
    properties = form["properties"]
    request = {"command": properties["command"]["const"]}
    if "model" in properties:
        request["model"] = r.choice(models)
    if "hardware" in form["required"] or ("hardware" in properties and r.random() < 0.7):
        request["hardware"] = r.choice(devices)
    inputs = properties["inputs"]["properties"]
    required = properties["inputs"].get("required", [])
    picked = r.sample(sorted(inputs), min(len(inputs), r.randint(0, 2)))
    request["inputs"] = {key: value_of(inputs[key], r) for key in [*required, *picked]}
    if request["command"] in ("serve", "plan serve"):
        request["inputs"].setdefault("rate", 1)
        request["inputs"].setdefault("num_requests", 50)
    if request["command"] == "plan train":
        request["inputs"].setdefault("gpus", 2)
    return request


WORDS = {"kind": ["models", "hardware", "dtypes", "x"], "name": ["gpt2", "h100", "vllm", "x"],
         "quantity": ["mfu", "tp", "step.time_s", "x"], "operation": ["all-reduce", "p2p", "x"]}


def check_random(session, count):
    forms = [f for f in validator("request").schema["anyOf"] if "inputs" in f["properties"]]
    models = [m["name"] for m in json.loads(printed("list models --json"))["models"]]
    devices = [d["name"] for d in json.loads(printed("list hardware --json"))["devices"]]
    r = random.Random(1)
    answered = refused = 0
    for _ in range(count):
        request = random_request(forms, models, devices, r)
        for key, words in WORDS.items():
            if key in request["inputs"]:
                request["inputs"][key] = r.choice(words)
        conforms(request, "request", f"request {request}")
        answer = json.loads(session.answer_text(request))
        if "error" in answer:
            refused += 1
            conforms(answer, "error", json.dumps(request))
            if "internal error" in answer["error"]["message"]:
                fail(f"{request}: {answer}")
        else:
            answered += 1
            conforms(answer, request["command"].split()[0], json.dumps(request))
            check_request_of(answer, request)
    if answered < count / 4 or refused < count / 20:
        fail(f"{answered} answers and {refused} errors are too few of one kind")
    print(f"schemas: {answered} answers and {refused} errors of random requests", file=sys.stderr)


def check_request_of(answer, request):
    """Command, model, hardware and inputs of an answer are a request."""
    if "inputs" not in answer or request["command"] in ("fit", "diagnose"):
        return
    again = {"command": request["command"], "inputs": answer["inputs"]}
    for part in ("model", "hardware"):
        if part in request:
            again[part] = answer[part]["name"] if part in answer else request[part]
    if request["command"] in ("collective",):
        again["inputs"]["operation"] = request["inputs"]["operation"]
    conforms(again, "request", f"the answer to {json.dumps(request)} as a request")


# ---- Files


def objects_in(value, path=()):
    """Paths of all objects in a value."""
    if isinstance(value, dict):
        yield path
        for key, part in value.items():
            yield from objects_in(part, (*path, key))
    if isinstance(value, list):
        for i, part in enumerate(value):
            yield from objects_in(part, (*path, i))


def with_unknown(value, path):
    copy = json.loads(json.dumps(value))
    at = copy
    for key in path:
        at = at[key]
    at[UNKNOWN] = 1
    return copy


def refused_by_reader(file, command):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as out:
        json.dump(file, out)
        out.flush()
        return UNKNOWN in error_of(command.format(out.name))


COMMANDS = {"models": ("model", "params {}"), "hardware": ("hardware", "train gpt2 --hardware {}"),
            "software": ("software", "show {}")}


def check_presets():
    tried = set()
    for folder, (kind, command) in COMMANDS.items():
        for name in sorted(glob.glob(f"presets/{folder}/*.json")):
            with open(name, encoding="utf-8") as text:
                file = json.load(text)
            conforms(file, kind, name)
            if kind == "software":
                continue  # parts of it are free, such as the settings of a launch command
            for path in objects_in(file):
                place = (kind, *(p for p in path if isinstance(p, str)))
                if place in tried:
                    continue
                tried.add(place)
                worse = with_unknown(file, path)
                by_schema = not validator(kind).is_valid(worse)
                if not (by_schema and refused_by_reader(worse, command)):
                    fail(f"{name}: an unknown key at {path}: {'only the reader' if not by_schema else 'only the schema'} refuses it")
    print(f"schemas: unknown keys at {len(tried)} places", file=sys.stderr)


FREE = ("model", "hardware", "inputs", "measured", "doubts", "per_second", "stated", "requests")


def reader_keys(row, path):
    """The keys that the reader of measurements lists when it refuses an unknown one."""
    error = ""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as out:
        out.write(json.dumps(with_unknown(row, path)) + "\n")
        out.flush()
        error = error_of(f"accuracy {out.name}")
    mark = "valid keys are "
    return set(error[error.index(mark) + len(mark) :].strip().split(", ")) if mark in error else set()


def check_measurements():
    known, tried = {}, set()
    for name in ("training", "inference", "serving"):
        with open(f"evidence/{name}.jsonl", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                conforms(row, "measurement", row["id"])
                for path in objects_in(row):
                    if (name, path) not in tried and not set(path) & set(FREE):
                        tried.add((name, path))
                        known.setdefault(path, set()).update(reader_keys(row, path))
    for path, keys in known.items():
        schema = validator("measurement").schema
        for key in path:
            schema = schema["properties"][key]
        if keys != set(schema["properties"]):
            fail(f"measurement {path}: reader and schema differ in {keys ^ set(schema['properties'])}")


def main():
    session = Session()
    check_presets()
    check_measurements()
    check_random(session, int(os.environ.get("LLMCALC_REQUESTS", "400")))
    check_commands()
    if session.close() != 0:
        fail("the MCP session did not end with exit code 0")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
