"""Answers with attributes."""

import copy
import difflib
import json
import keyword

from ._library import ask_json


class InputError(ValueError):
    """A mistake in a request, in one sentence. `key`: the input that caused it, or None."""

    def __init__(self, message, key=None):
        super().__init__(message)
        self.key = key


def _viewed(value):
    if isinstance(value, dict):
        return Section(value)
    return [_viewed(one) for one in value] if isinstance(value, list) else value


class _View:
    """Attributes, and dotted paths in brackets, of a dictionary."""

    __slots__ = ()

    def to_dict(self):
        """The values as a dictionary, which belongs to the caller."""
        return copy.deepcopy(self._values())

    def get(self, path, default=None):
        """The value at a dotted path, or `default`."""
        here = self._values()
        for key in path.split("."):
            if not isinstance(here, dict) or key not in here:
                return default
            here = here[key]
        return _viewed(here)

    def __contains__(self, path):
        return self.get(path, _missing) is not _missing

    def __getitem__(self, path):
        value = self.get(path, _missing)
        if value is _missing:
            raise KeyError(path)
        return value

    def __getattr__(self, name):
        values = {} if name.startswith("_") else self._values()
        key = name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name
        if key in values:
            return _viewed(values[key])
        near = difflib.get_close_matches(name, values, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(values)}" if values else ""
        raise AttributeError(f"no value {name!r} in this {type(self).__name__.lower()}{hint}")

    def __dir__(self):
        keys = (key + "_" if keyword.iskeyword(key) else key for key in self._values())
        return sorted({*super().__dir__(), *filter(str.isidentifier, keys)})

    def __eq__(self, other):
        return self._values() == other._values() if isinstance(other, _View) else NotImplemented

    __hash__ = None


_missing = object()


class Section(_View):
    """A part of an answer."""

    __slots__ = ("_dict",)

    def __init__(self, values):
        self._dict = values

    def _values(self):
        return self._dict

    def __repr__(self):
        return f"Section({self._dict!r})"


class Answer(_View):
    """An answer. Values are attributes (answer.step.time_s) and dotted paths (answer["step.time_s"]), in base units:
    bytes, seconds, FLOPs. The text of the answer is its repr()."""

    __slots__ = ("_dict", "_request", "_text")

    def __init__(self, text, request):
        self._text, self._request, self._dict = text, request, None

    def _values(self):
        if self._dict is None:
            self._dict = json.loads(self._text)
        return self._dict

    @property
    def request(self):
        """The request, for llmcalc.ask()."""
        return copy.deepcopy(self._request)

    def json(self):
        """The answer as JSON text, with the bytes of 'llmcalc COMMAND --json'."""
        return self._text

    def _styled(self, style):
        answer = json.loads(ask_json(json.dumps({**self._request, "style": style})))
        return answer.get("text", self._text).rstrip("\n")

    def __repr__(self):
        return self._styled("text")

    def _repr_html_(self):
        return self._styled("html")

    def _repr_markdown_(self):
        return self._styled("markdown")

    def __reduce__(self):
        return Answer, (self._text, self._request)


def answer_of(text, request):
    """The answer in this text. Raises InputError if the text is an error."""
    answer = Answer(text, request)
    if text.startswith('{\n  "error"'):
        error = answer.to_dict()["error"]
        raise InputError(error["message"], error.get("key"))
    return answer
