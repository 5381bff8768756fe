"""Makes the functions of the package, one per command."""

import inspect
import keyword
import os

from ._answer import Answer, InputError
from ._requests import ask, card, request_of


def _without_underscore(name):
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def _parameter_name(key):
    return key + "_" if keyword.iskeyword(key) else key


def _log_text(log):
    """The text of a log: a file's content for a path."""
    if not isinstance(log, os.PathLike):
        return log
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot read {os.fspath(log)!r}: {error.strerror}; pass a log", "log") from None


def _named(run, name, signature, doc):
    run.__name__ = run.__qualname__ = name
    run.__module__ = "llmcalc"
    run.__doc__ = inspect.cleandoc(doc)
    run.__signature__ = signature
    return run


def _signature(required, optional, inputs):
    kinds = inspect.Parameter
    words = [kinds(_parameter_name(key), kinds.POSITIONAL_OR_KEYWORD) for key in required]
    words += [kinds(_parameter_name(key), kinds.POSITIONAL_OR_KEYWORD, default=None) for key in optional]
    options = [kinds(_parameter_name(key), kinds.KEYWORD_ONLY, default=None) for key in inputs]
    return inspect.Signature(words + options)


def function(name, command, required, optional, inputs, doc):
    """The function of a command: its words, in order, and the options of a request by name. The library checks them, so
    that mistakes have the same sentences everywhere."""
    words = (*required, *optional)

    def run(*args, **given):
        if len(args) > len(words):
            raise TypeError(f"{name}() takes at most {len(words)} arguments by position, got {len(args)}; pass options by name")
        inputs = {_without_underscore(key): value for key, value in given.items()}
        for word, value in zip(words, args):
            if word in inputs:
                raise TypeError(f"{name}() got two values for {word!r}")
            inputs[word] = value
        if "log" in inputs:
            inputs["log"] = _log_text(inputs["log"])
        return ask(request_of(command, inputs.pop("model", None), inputs.pop("hardware", None), inputs))

    return _named(run, name, _signature(required, optional, inputs), doc)


def _request(side):
    return side.request if isinstance(side, Answer) else side


def sides_function(name, command, doc):
    """The function of a command over answers or requests."""

    def run(*sides):
        return ask({"command": command, "sides": [_request(side) for side in sides]})

    sides = inspect.Parameter("sides", inspect.Parameter.VAR_POSITIONAL)
    return _named(run, name, inspect.Signature([sides]), doc)
