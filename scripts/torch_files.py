"""safetensors files of PyTorch's tensors: the length of the header, the header, the numbers."""

import json
import struct

import torch

KINDS = {torch.float64: ("F64", "d"), torch.int64: ("I64", "q"), torch.float32: ("F32", "f"),
         torch.float16: ("F16", "e"), torch.bfloat16: ("BF16", "h")}


def raw(t):
    """A tensor's numbers as bytes, little-endian, row by row; bf16 as the upper halves of float32."""
    code = KINDS[t.dtype][1]
    if t.dtype == torch.bfloat16:
        return b"".join(struct.pack("<f", x)[2:] for x in t.flatten().tolist())
    return struct.pack(f"<{t.numel()}{code}", *t.flatten().tolist())


def write(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, t in tensors.items():
        numbers = raw(t)
        header[name] = {"dtype": KINDS[t.dtype][0], "shape": list(t.shape),
                        "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    """Tensors of float64 and int64 by name, metadata."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    metadata, tensors = header.pop("__metadata__"), {}
    for name, e in header.items():
        begin, end = e["data_offsets"]
        numbers = struct.unpack("<%d%s" % ((end - begin) // 8, "q" if e["dtype"] == "I64" else "d"), data[begin:end])
        tensors[name] = torch.tensor(numbers).view(e["shape"])
    return tensors, metadata
