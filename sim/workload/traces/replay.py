"""A trace as offered load: every row once, at its own time.

This module owns the description that a manifest's ``arrivals`` block gives of a trace (:class:`TraceSpec`) and the
blocks of arrivals that come out of it. Nothing is drawn here. It must not know manifests: whoever reads one hands the
block over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import islice
from pathlib import Path

from sim.workload.blocks import BLOCK_ROWS
from sim.workload.traces.columns import Reading
from sim.workload.traces.rows import ArrivalReader, TraceRow
from sim.workload.traces.table import TraceTable, load_table
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MS, fraction


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

    Memory is flat in the length of the trace unless it has to be sorted.

    Args:
        spec: How the trace is read.
        path: The file, resolved against the manifest's folder.
        block_rows: Most arrivals in a block.

    Raises:
        ConfigError: At a row that cannot be used, or at the end if the bytes read were not those the manifest names.
    """
    service = _ServiceTime(spec)
    if spec.sort:
        table = load_table(path, spec)
        _check_digest(spec, table.sha256, path)
        for start in range(0, len(table.at_ns), block_rows):
            yield service.block(_table_rows(table, start, start + block_rows), 0)
        return
    arrivals = ArrivalReader(path, spec)
    rows = iter(arrivals)
    first_ns: int | None = None
    while taken := list(islice(rows, block_rows)):
        if first_ns is None:
            first_ns = taken[0].at_ns
        yield service.block(taken, first_ns)
    _check_digest(spec, arrivals.source.sha256, path)


class _ServiceTime:
    """How long each row is served, by a spec."""

    def __init__(self, spec: TraceSpec) -> None:
        self._has = spec.has_service
        self._ns_per_token = fraction(spec.ms_per_token) * NS_PER_MS if spec.ms_per_token is not None else None

    def block(self, rows: list[TraceRow], first_ns: int) -> TraceBlock:
        service_ns = None
        if self._has:
            service_ns = [self._of(row) for row in rows]
        return TraceBlock(
            [row.at_ns - first_ns for row in rows],
            [row.principal for row in rows],
            [row.tokens for row in rows],
            service_ns,
        )

    def _of(self, row: TraceRow) -> int:
        return row.duration_ns if self._ns_per_token is None else round_half_up(self._ns_per_token * row.tokens)


def round_half_up(value: Fraction) -> int:
    """Return the nearest integer to a non-negative fraction, halves upwards."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def _table_rows(table: TraceTable, start: int, stop: int) -> list[TraceRow]:
    columns = (table.lines, table.at_ns, table.tokens, table.principal, table.duration_ns)
    return [TraceRow(*values) for values in zip(*(column[start:stop].tolist() for column in columns), strict=True)]


def _check_digest(spec: TraceSpec, sha256: str, path: Path) -> None:
    if sha256 != spec.sha256.removeprefix("sha256:"):
        raise ConfigError("sha256", sha256, f"{spec.sha256}, as the manifest says; the file is another", file=str(path))
