"""MTP modules in PyTorch (multi-token prediction; DeepSeek-V3, arXiv:2412.19437, 2.2), for torch_decoder.py.

For token i, module k reads the preceding result, of the last layer or a module, and the embedding of token i + k, each
with a separate norm, and predicts token i + k + 1. Modules follow the model's layers and continue their numbering.
"""

import torch
import torch.nn.functional as F
from torch import nn

SHARE = 0.3  # weight of their mean loss in the loss


class Ends(nn.Module):
    """Container for modules."""


def add_input_and_head(block, m, norm):
    """Modules in addition to the block."""
    width, own = m["hidden"], m["mtp"]
    block.mtp, block.head = Ends(), Ends()
    block.mtp.token_norm, block.mtp.result_norm = norm(m), norm(m)
    block.mtp.project_token, block.mtp.project_result = (nn.Linear(width, width, bias=False) for _ in range(2))
    if own["own_embedding"]:
        block.mtp.tokens = nn.Embedding(m["vocabulary"], width)
    if own["own_norm"]:
        block.head.norm = norm(m)
    if own["own_head"]:
        block.head.logits = nn.Linear(width, m["vocabulary"], bias=m["head"]["bias"])


def losses(model, modules, x, ids, targets):
    """The cross-entropy of each module over the tokens with a target."""
    all_losses, tokens = [], ids.shape[1]
    for k, block in enumerate(modules, start=1):
        table = getattr(block.mtp, "tokens", model.embedding.tokens)
        read = torch.zeros_like(ids)  # tokens past the end have no effect
        read[:, : tokens - k] = ids[:, k:]
        both = torch.cat((block.mtp.result_norm(x), block.mtp.token_norm(table(read))), dim=-1)
        weight = torch.cat((block.mtp.project_result.weight, block.mtp.project_token.weight), dim=1)
        x = block(F.linear(both, weight))
        norm = getattr(block.head, "norm", model.head.norm)
        logits = getattr(block.head, "logits", model.head.logits)(norm(x))
        all_losses.append(F.cross_entropy(logits[:, : tokens - k].flatten(0, 1), targets[:, k:].flatten()))
    return all_losses
