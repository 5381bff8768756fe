"""Answers the requests in a file, one a line, with the functions of the Python package, one a command:

    python_answers.py PACKAGE_FOLDER REQUESTS ANSWERS

Answers are separated by zero bytes. The text of an error is built from the exception."""

import json
import keyword
import sys

sys.path.insert(0, sys.argv[1])
import llmcalc  # noqa: E402


def error_text(error):
    fields = {"message": str(error), "exit_code": 2, **({"key": error.key} if error.key else {})}
    return json.dumps({"error": fields}, indent=2, ensure_ascii=False).replace("\x7f", "\\u007f") + "\n"


def function_of(request):
    """The function of a valid command; ask() for others, and for requests that no call expresses."""
    name = request["command"].replace(" ", "_")
    name += "_" if keyword.iskeyword(name) else ""
    sent = request.get("inputs", {})
    if name not in llmcalc.__all__ or None in (*request.values(), *sent.values()):
        return lambda: llmcalc.ask(request)
    if name == "compare":
        return lambda: llmcalc.compare(*request["sides"])
    given = {key: request[key] for key in ("model", "hardware") if key in request}
    return lambda: getattr(llmcalc, name)(**given, **{k + "_" if keyword.iskeyword(k) else k: v for k, v in sent.items()})


def answer_text(request):
    try:
        return function_of(request)().json()
    except llmcalc.InputError as error:
        return error_text(error)


with open(sys.argv[2], encoding="utf-8") as requests, open(sys.argv[3], "w", encoding="utf-8", newline="") as answers:
    answers.write("\0".join(answer_text(json.loads(line)) for line in requests))
