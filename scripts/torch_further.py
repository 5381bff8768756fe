"""Modules for further tokens in PyTorch (MTP; DeepSeek-V3, arXiv:2412.19437, 2.2), for torch_decoder.py.

Module k reads of token i the result before it, the last layer's or a module's, and the embedding of token i + k, each
under a norm of its own, and predicts token i + k + 1. It comes behind the model's layers and has the number after them.
"""

import torch
import torch.nn.functional as F
from torch import nn

SHARE = 0.3  # of the mean of their losses in the loss


class Ends(nn.Module):
    """A place for modules."""


def add_input_and_head(block, m, norm):
    """What a module has beside its block."""
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
    """The cross-entropy of each module over the tokens that it has a target for."""
    all_losses, tokens = [], ids.shape[1]
    for k, block in enumerate(modules, start=1):
        table = getattr(block.mtp, "tokens", model.embedding.tokens)
        read = torch.zeros_like(ids)  # those past the end do not matter
        read[:, : tokens - k] = ids[:, k:]
        both = torch.cat((block.mtp.result_norm(x), block.mtp.token_norm(table(read))), dim=-1)
        weight = torch.cat((block.mtp.project_result.weight, block.mtp.project_token.weight), dim=1)
        x = block(F.linear(both, weight))
        norm = getattr(block.head, "norm", model.head.norm)
        logits = getattr(block.head, "logits", model.head.logits)(norm(x))
        all_losses.append(F.cross_entropy(logits[:, : tokens - k].flatten(0, 1), targets[:, k:].flatten()))
    return all_losses
