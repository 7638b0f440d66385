"""A trace as offered load: every row once, at its own time.

This module owns the description that a manifest's ``arrivals`` block gives of a trace (:class:`TraceSpec`) and the
blocks of arrivals that come out of it. Nothing is drawn here. It must not know manifests: whoever reads one hands the
block over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path

import numpy as np

from sim.manifest.scalars import HORIZON_MAX_NS
from sim.workload.blocks import BLOCK_ROWS
from sim.workload.traces.columns import Reading
from sim.workload.traces.figures import Integers
from sim.workload.traces.table import Columns, TraceBlocks
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MS, NS_PER_S, fraction


@dataclass(frozen=True, kw_only=True)
class TraceSpec(Reading):
    """The ``arrivals: {kind: trace, ...}`` block of a manifest, ``kind`` left out.

    Beside the keys of :class:`Reading` (``format, time_column, time_unit, time_is, tokens_columns, principal_column,
    duration_column, duration_unit, sort, drop_invalid``; the optional ones have defaults):

    Attributes:
        file: Path of the trace, relative to the manifest.
        sha256: Hex digest of its bytes, with or without ``sha256:`` before it; the loader checks it, and a replay
            checks again what it read.
        ms_per_token: If given, an exact decimal: each request is served for its tokens times this, ms.

    A stream that replays a trace with several principals says ``count: N``; the k-th id to appear in the file is the
    k-th of them, whatever it is called in the trace. The time of service comes from ``duration_column``, or from
    ``ms_per_token``, or, without both, from the provider.
    """

    file: str
    sha256: str
    ms_per_token: str | None = None

    def __post_init__(self) -> None:
        """Refuse what could not be replayed.

        Raises:
            ConfigError: Naming the field.
        """
        super().__post_init__()
        digest = self.sha256.removeprefix("sha256:")
        if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise ConfigError("sha256", self.sha256, "64 lower-case hex digits")
        if self.ms_per_token is None:
            return
        if fraction(self.ms_per_token, "ms_per_token") <= 0:
            raise ConfigError("ms_per_token", self.ms_per_token, "a decimal above 0")
        if not self.tokens_columns:
            raise ConfigError("ms_per_token", self.ms_per_token, "absent: the trace has no tokens to multiply by")

    @property
    def has_service(self) -> bool:
        """Whether every arrival brings the time it is served for."""
        return self.ms_per_token is not None or self.duration_column is not None

    def to_mapping(self) -> dict[str, object]:
        """Return the block a manifest writes, ``kind`` included; what is at its default is left out."""
        block: dict[str, object] = {"kind": "trace", "file": self.file, "sha256": self.sha256}
        for entry in fields(Reading):
            value = getattr(self, entry.name)
            if value != entry.default:
                block[entry.name] = list(value) if isinstance(value, tuple) else value
        if self.ms_per_token is not None:
            block["ms_per_token"] = self.ms_per_token
        return block


@dataclass(frozen=True, slots=True)
class TraceBlock:
    """Consecutive arrivals as columns of one length.

    Attributes:
        at_ns: Instants from the first arrival, ns, never falling.
        principal: Numbers of the principals, from 0 in the order of first appearance in the file.
        tokens: Sizes; 0 where the trace has none.
        service_ns: Times of service, ns; None where the provider decides.
    """

    at_ns: list[int]
    principal: list[int]
    tokens: list[int]
    service_ns: list[int] | None


def replay(spec: TraceSpec, path: Path, *, block_rows: int = BLOCK_ROWS) -> Iterator[TraceBlock]:
    """Yield every arrival of a trace once, in the order of time.

    Memory is flat in the length of the trace unless it has to be sorted, which keeps 48 bytes a row.

    Args:
        spec: How the trace is read.
        path: The file, resolved against the manifest's folder.
        block_rows: Most arrivals in a block.

    Raises:
        ConfigError: At a row that cannot be used, or at the end if the bytes read were not those the manifest names.
    """
    service = RowService(spec)
    trace = TraceBlocks(path, spec, block_rows=block_rows)
    for block in trace:
        served = service.of(block)
        yield TraceBlock(
            block.at_ns.tolist(),
            block.principal.tolist(),
            block.tokens.tolist(),
            served.tolist() if served is not None else None,
        )
    if trace.sha256 != spec.sha256.removeprefix("sha256:"):
        allowed = f"{spec.sha256}, as the manifest says; the file is another"
        raise ConfigError("sha256", trace.sha256, allowed, file=str(path))


class RowService:
    """How long each row is served, where the trace or a time a token says it."""

    def __init__(self, spec: TraceSpec) -> None:
        self._durations = spec.duration_column is not None
        self._ns_per_token = fraction(spec.ms_per_token) * NS_PER_MS if spec.ms_per_token is not None else None
        self._file = spec.file

    def of(self, block: Columns) -> Integers | None:
        """Return the times of service of a block, ns, shape ``(n,)``; None where the provider decides.

        Raises:
            ConfigError: If a row's tokens times the time of each make more than any run lasts.
        """
        if self._ns_per_token is None:
            return block.duration_ns if self._durations else None
        served = [round_half_up(self._ns_per_token * tokens) for tokens in block.tokens.tolist()]
        if max(served) > HORIZON_MAX_NS:
            place = next(place for place, time_ns in enumerate(served) if time_ns > HORIZON_MAX_NS)
            allowed = f"tokens and a time of each that make at most {HORIZON_MAX_NS // NS_PER_S} s"
            raise ConfigError(f"row {block.lines[place]}", f"{served[place] // NS_PER_S} s", allowed, file=self._file)
        return np.array(served, dtype=np.int64)


def round_half_up(value: Fraction) -> int:
    """Return the nearest integer to a non-negative fraction, halves upwards."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)
