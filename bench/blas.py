"""The BLAS that PyTorch runs on, and the OpenBLAS core that suits this processor. As a program: prints both as JSON.

OpenBLAS chooses kernels by the processor's family. A version older than the processor falls back to narrower ones, down to
Prescott's SSE3, and a comparison with those is an artifact.
"""

import ctypes
import json
import os
import re
import subprocess
import sys

WIDTHS = {"SapphireRapids": 512, "Cooperlake": 512, "SkylakeX": 512, "Zen": 256, "Haswell": 256}  # bits of a vector
AVX512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}
PACKAGE = "libopenblas0"  # Debian


def processor():
    """The first processor of /proc/cpuinfo; empty on other systems."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = file.read().split("\n\n")[0].splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def fitting_cores(cpu):
    """OpenBLAS cores with all vector instructions of an x86-64 processor, the best first; empty for any other."""
    flags = set(cpu.get("flags", "").split())
    if AVX512 <= flags:
        bf16 = "avx512_bf16" in flags
        return ["SapphireRapids"] * (bf16 and "amx_tile" in flags) + ["Cooperlake"] * bf16 + ["SkylakeX"]
    if not {"avx2", "fma"} <= flags:
        return []
    zen = cpu.get("vendor_id") in ("AuthenticAMD", "HygonGenuine") and int(cpu.get("cpu family", 0)) >= 23
    return ["Zen" if zen else "Haswell"]


def choose_core():
    """Sets OPENBLAS_CORETYPE to the best core that the library has, unless it is set. Before PyTorch is imported."""
    cores = fitting_cores(processor())
    if not cores or os.environ.get("OPENBLAS_CORETYPE"):
        return
    for core in cores[:-1]:
        env = {**os.environ, "OPENBLAS_CORETYPE": core}
        said = subprocess.run([sys.executable, __file__], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if said.returncode == 0 and json.loads(said.stdout)["core"] == core:
            break
    else:
        core = cores[-1]
    os.environ["OPENBLAS_CORETYPE"] = core


class Symbol(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = [("path", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]


def library_of(function):
    found = Symbol()
    ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(found))
    return found.path.decode()


def loaded():
    """{"blas", "core"} of this process, after PyTorch was imported; core is None if the BLAS is not OpenBLAS."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        torch = re.search(r"/\S*/libtorch_cpu\.so\S*", file.read())
    path = "a BLAS of its own"
    try:
        path = library_of(ctypes.CDLL(torch.group()).sgemm_)
        blas = ctypes.CDLL(path)
        blas.openblas_get_corename.restype = blas.openblas_get_config.restype = ctypes.c_char_p
    except AttributeError:  # no such function
        return {"blas": os.path.basename(path), "core": None}
    return {
        "blas": " ".join(blas.openblas_get_config().decode().split()[:2]),
        "core": blas.openblas_get_corename().decode(),
    }


def refusal(found):
    """Why a ratio against this BLAS would mislead, in one sentence; None if it does not."""
    if found["core"] is None:
        return f"PyTorch runs on {found['blas']} instead of OpenBLAS; install python3-torch and {PACKAGE} (Debian)"
    cores = fitting_cores(processor())
    if not cores or WIDTHS.get(found["core"], 128) == WIDTHS[cores[0]]:
        return None
    width = WIDTHS[cores[0]]
    return (
        f"{found['blas']} runs kernels for {found['core']}, which do not fit this processor's {width}-bit vectors, so a ratio "
        f"would be an artifact; unset OPENBLAS_CORETYPE, or install an OpenBLAS that has {cores[-1]}"
    )


if __name__ == "__main__":
    import torch  # noqa: F401

    print(json.dumps(loaded()))
