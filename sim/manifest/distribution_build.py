"""From the shape of a distribution to its value.

This module owns that translation, for amounts and for lengths alike. It must not know what a distribution is drawn for.
"""

from __future__ import annotations

from sim.manifest import distribution_blocks as shape
from sim.manifest.distributions import (
    BoundedPareto,
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Simple,
    Uniform,
)
from sim.manifest.inputs import Inputs
from sim.manifest.wording import NOTHING
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MS


def amounts(block: shape.Amounts, path: str, inputs: Inputs) -> Distribution:
    """Return the distribution of amounts that a key describes.

    Args:
        block: Its value.
        path: Key path, for complaints.
        inputs: Where its files are read and noted.

    Raises:
        ConfigError: For a file that cannot be used, or a lognormal with half of its figures.
    """
    return _any(block, path, inputs, 1, 0)


def lengths(block: shape.Lengths, path: str, inputs: Inputs) -> Distribution:
    """Return the distribution of lengths, ns, that a key describes.

    Args:
        block: Its value.
        path: Key path, for complaints.
        inputs: Where its files are read and noted.

    Raises:
        ConfigError: For a file that cannot be used, or a lognormal with half of its figures.
    """
    return _any(block, path, inputs, NS_PER_MS, 1)


def _any(block: shape.Amounts | shape.Lengths, path: str, inputs: Inputs, unit: int, least: int) -> Distribution:
    """Return any distribution; ``unit`` and ``least`` say how the values of a file are read."""
    if not isinstance(block, shape.MixtureBlock):
        return _simple(block, path, inputs, unit, least)
    return Mixture(
        tuple(
            (weight, _simple(part, f"{path}.of[{place}][1]", inputs, unit, least))
            for place, (weight, part) in enumerate(block.of)
        )
    )


def _simple(block: shape.AmountPart | shape.LengthPart, path: str, inputs: Inputs, unit: int, least: int) -> Simple:
    """Return one law."""
    if isinstance(block, int):
        return Constant(block)
    if isinstance(block, shape.ConstantBlock):
        return Constant(block.value)
    if isinstance(block, shape.UniformBlock):
        return Uniform(block.min, block.max)
    if isinstance(block, shape.ExponentialBlock):
        return Exponential(block.mean)
    if isinstance(block, shape.GammaBlock):
        return Gamma(block.mean, block.cv)
    if isinstance(block, shape.BoundedParetoBlock):
        return BoundedPareto(block.alpha, block.min, block.max)
    if isinstance(block, shape.LognormalBlock):
        return _lognormal(block.mean, block.median, block, path)
    values = inputs.values(block.file, block.sha256, path, block.column, block.scale, unit, least)
    return Empirical(block.file, values)


def _lognormal(
    mean: int | None, median: int | None, block: shape.LognormalAmount | shape.LognormalLength, path: str
) -> Lognormal:
    if median is not None and block.p99 is not None:
        return Lognormal(median, None, block.p99)
    if mean is not None and block.cv is not None and block.p99 is None:
        return Lognormal(mean, block.cv)
    missing = (
        "p99" if median is not None else "median" if block.p99 is not None else "cv" if mean is not None else "mean"
    )
    raise ConfigError(f"{path}.{missing}", NOTHING, "mean and cv, or median and p99")
