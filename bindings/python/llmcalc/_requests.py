"""Requests as JSON, and functions that send them."""

import json
import os

from ._answer import InputError, answer_of
from ._library import ask_json, ask_many_json


def _plain(value):
    """A value of NumPy or pandas as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise InputError(f"{value!r} is not a number, a string, a list or a dictionary")


def json_text(request):
    """A request as JSON text."""
    try:
        return json.dumps(request, default=_plain, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the request cannot be written as JSON: {error}") from None


def card(value, key):
    """A model or device: a name or dictionary unchanged, a file's content for a path to JSON or its folder."""
    is_path = isinstance(value, os.PathLike) or (isinstance(value, str) and (os.sep in value or value.endswith(".json")))
    if not is_path or (isinstance(value, str) and not os.path.exists(os.path.expanduser(value)) and not value.endswith(".json")):
        return value
    path = os.path.expanduser(value)
    path = os.path.join(path, "config.json") if os.path.isdir(path) else path
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file, parse_constant=lambda name: None)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {os.fspath(path)!r}: {error}; pass a JSON file", key) from None


def request_of(command, model=None, hardware=None, inputs=None):
    """The request of a command, without inputs that are None."""
    request = {"command": command}
    if model is not None:
        request["model"] = card(model, "model")
    if hardware is not None:
        request["hardware"] = card(hardware, "hardware")
    given = {key: value for key, value in (inputs or {}).items() if value is not None}
    return {**request, "inputs": given} if given else request


def ask(request):
    """The answer to a request: {"command", "model", "hardware", "inputs"}. Raises InputError."""
    return answer_of(ask_json(json_text(request)), request)


def _answer_or_error(text, request):
    try:
        return answer_of(text, request)
    except InputError as error:
        return error


def ask_many(requests):
    """The answers to a list of requests, computed on all cores. Impossible requests have an InputError in the list."""
    requests = [getattr(one, "request", one) for one in requests]
    text = ask_many_json(json_text(requests))
    if text.startswith("{"):
        answer_of(text, None)
    parts = text[2:-2].split("\n,\n") if requests else []
    return [_answer_or_error(part if part.endswith("\n") else part + "\n", one) for part, one in zip(parts, requests)]


def _is_list(value):
    return not isinstance(value, (str, bytes, dict)) and hasattr(value, "__iter__")


def _rows(sweep):
    answer = json.loads(ask_many_json(json_text(sweep)))
    if "error" in answer:
        raise InputError(answer["error"]["message"], answer["error"].get("key"))
    columns = answer["columns"]
    return [dict(zip(columns, row)) for row in answer["rows"]]


def sweep(command, model=None, *, hardware=None, fields=None, points=None, ranges=None, **inputs):
    """Rows of a command's values as a list of dictionaries, for pandas.DataFrame(), computed on all cores.

    sweep("train", "llama-3.1-8b", hardware=["h100", "h200"], gpus=64, tp=[1, 2, 4, 8], fields=["step.time_s"])

    A list or range of values in model, hardware or an input is swept: every combination is a row, and the last one
    varies fastest. ranges={"micro_batch": "1..64x2"} takes the ranges of 'llmcalc sweep' in text. points, a list of
    dictionaries or a DataFrame, replaces the combinations with given rows. fields are dotted paths of the answer; without
    them, about ten per command. The column "error" has the reason if a point is impossible, else None."""
    values = {"model": model, "hardware": hardware, **inputs}
    lists = {key: list(value) for key, value in values.items() if _is_list(value)}
    single = {key: value for key, value in inputs.items() if key not in lists}
    base = request_of(command, *(None if key in lists else values[key] for key in ("model", "hardware")), single)
    asked = {"base": base}
    if fields is not None:
        asked["fields"] = [fields] if isinstance(fields, str) else list(fields)
    if points is None:
        return _rows({**asked, "ranges": {**lists, **(ranges or {})}})
    if lists or ranges:
        raise InputError("points replace lists of values; pass one of them")
    points = points.to_dict("records") if hasattr(points, "to_dict") else list(points)
    return _rows({**asked, "points": points}) if points else []
