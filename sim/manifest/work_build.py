"""From the shape of ``work`` to what a stream's requests use and state."""

from __future__ import annotations

from types import MappingProxyType

from sim.manifest import work_blocks as shape
from sim.manifest.distribution_build import amounts
from sim.manifest.distributions import Constant, Distribution
from sim.manifest.inputs import Inputs
from sim.manifest.work import (
    STATEMENTS,
    Drawn,
    Exact,
    MaxTokens,
    OutputEstimate,
    Scaled,
    Statement,
    Unknown,
    Work,
)


def tokens_and_work(block: shape.Work | None, path: str, inputs: Inputs) -> tuple[Distribution, Work | None]:
    """Return the tokens of a stream's requests, and what is special about them.

    Args:
        block: Its ``work``; None for a trace that brings all there is to know.
        path: Key path of the block.
        inputs: Where files of values are read and noted.

    Returns:
        The tokens, as estimated and used (0 where the prompt and the output are told apart, or a trace has them), and
        the rest; None where the requests are plain.

    Raises:
        ConfigError: For a distribution that cannot be used.
    """
    if block is None:
        return Constant(0), None
    tokens = Constant(0) if block.tokens is None else amounts(block.tokens, f"{path}.tokens", inputs)
    stated = {name: getattr(block, name) for name in STATEMENTS if getattr(block, name) is not None}
    if block.prompt_tokens is None and not stated:
        return tokens, None
    output = block.output_tokens
    return tokens, Work(
        None if block.prompt_tokens is None else amounts(block.prompt_tokens, f"{path}.prompt_tokens", inputs),
        Constant(0) if output is None else amounts(output, f"{path}.output_tokens", inputs),
        _estimate(block.output_estimate, f"{path}.output_estimate", inputs),
        _stated(stated, path, inputs),
    )


def _stated(
    blocks: dict[Statement, shape.AmountsOrUnknown], path: str, inputs: Inputs
) -> MappingProxyType[Statement, Distribution | None]:
    return MappingProxyType(
        {
            name: None if isinstance(block, str) else amounts(block, f"{path}.{name}", inputs)
            for name, block in blocks.items()
        }
    )


def _estimate(block: shape.OutputEstimateBlock | None, path: str, inputs: Inputs) -> OutputEstimate:
    match block:
        case shape.MaxTokensEstimate():
            return MaxTokens(block.value)
        case shape.FactorEstimate():
            return Scaled(block.value)
        case shape.DrawnEstimate():
            return Drawn(amounts(block.tokens, f"{path}.tokens", inputs))
        case shape.UnknownEstimate():
            return Unknown()
        case _:
            return Exact()
