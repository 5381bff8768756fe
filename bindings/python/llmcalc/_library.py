"""The C library next to this file."""

import ctypes
import os


def _loaded():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libllmcalc.so.0")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot load {path}: {error}; install the wheel that scripts/wheel builds") from error
    for function in (library.llmcalc_ask, library.llmcalc_ask_many):
        function.argtypes, function.restype = [ctypes.c_char_p], ctypes.c_void_p
    library.llmcalc_free.argtypes, library.llmcalc_free.restype = [ctypes.c_void_p], None
    library.llmcalc_version.argtypes, library.llmcalc_version.restype = [], ctypes.c_char_p
    return library


_library = _loaded()


def _text(function, request):
    """The answer of a function of the library, which releases Python's lock while it works."""
    data = request.encode("utf-8", "surrogatepass").replace(b"\0", b"\xff")  # both are invalid in JSON
    answer = function(data)
    try:
        return ctypes.string_at(answer).decode("utf-8")
    finally:
        _library.llmcalc_free(answer)


def ask_json(request):
    """The answer to a request, both as JSON text. The bytes equal those of 'llmcalc COMMAND --json'. Never raises for a
    mistake in the request: the answer is then {"error": {"key", "message", "exit_code": 2}}."""
    return _text(_library.llmcalc_ask, request)


def ask_many_json(requests):
    """Answers to a list of requests, or the rows of a sweep, both as JSON text (bindings/c/llmcalc.h)."""
    return _text(_library.llmcalc_ask_many, requests)


def version():
    """The version of the library."""
    return _library.llmcalc_version().decode()
