"""What a manifest is built from: the bytes that were read, the document in them, and what the command line changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from sim.manifest.documents import Format
from sim.manifest.model import Phase
from sim.manifest.wording import Said
from tollgate.core.errors import ConfigError, nearest
from tollgate.core.units import MAX_SAFE_INTEGER, NS_PER_S, ms_text


@dataclass(frozen=True, slots=True)
class Source:
    """One reading of a manifest.

    Attributes:
        path: The file.
        raw: Its exact bytes.
        document: What they say, after overrides.
        format: How they were read.
        seed: Seed that replaces the manifest's, or None.
        window_ns: Cut of the phases, or None.
        overrides: (path, value) already applied to ``document``.
        assumptions_path: The assumptions file, or None.
        assumptions_raw: Its exact bytes.
        assumptions: What they say, or None.
    """

    path: Path
    raw: bytes = field(repr=False)
    document: Mapping[str, object] = field(repr=False)
    format: Format = "json"
    seed: int | None = None
    window_ns: int | None = None
    overrides: tuple[tuple[str, str], ...] = ()
    assumptions_path: Path | None = None
    assumptions_raw: bytes = field(default=b"", repr=False)
    assumptions: object = field(default=None, repr=False)

    @property
    def sha256(self) -> str:
        """Hex digest of ``raw``."""
        return sha256(self.raw).hexdigest()


def windowed(phases: tuple[Phase, ...], window_ns: int | None, warmup_ns: int, drain_ns: int = 0) -> tuple[Phase, ...]:
    """Return the phases cut at the window.

    Args:
        phases: Back to back from 0.
        window_ns: Where to cut, ns; None leaves them whole.
        warmup_ns: Must end before the last phase does.
        drain_ns: How long the run may go on behind the phases.

    Raises:
        ConfigError: If nothing would be left to observe, the window reaches beyond the phases, or the run may last
            longer than a record can tell in integers of ns.
    """
    end_ns = phases[-1].end_ns
    if window_ns is not None:
        if not 0 < window_ns <= end_ns:
            allowed = f"seconds above 0, at most {seconds_text(end_ns)}, the length of the phases"
            raise ConfigError("window", Said(seconds_text(window_ns)), allowed)
        end_ns = window_ns
    if warmup_ns >= end_ns:
        raise ConfigError(
            "warmup_seconds", Said(seconds_text(warmup_ns)), f"less than the {seconds_text(end_ns)} s of the run"
        )
    if end_ns + drain_ns > MAX_SAFE_INTEGER:
        longest = f"at most {MAX_SAFE_INTEGER // NS_PER_S} s (104 days), drain included"
        allowed = f"{longest}: a record counts ns up to 2^53-1"
        raise ConfigError("phases", Said(f"a run of {seconds_text(end_ns + drain_ns)} s"), allowed)
    return tuple(
        Phase(phase.name, phase.start_ns, min(phase.end_ns, end_ns), phase.rate_multiplier)
        for phase in phases
        if phase.start_ns < end_ns
    )


def seconds_text(ns: int) -> str:
    """Return a length of time in seconds, as messages show it."""
    return ms_text(ns // (NS_PER_S // 10**6)) if ns % 10**3 == 0 else f"{ns} ns"


def known(name: str, names: Mapping[str, int], path: str, what: str) -> int:
    """Return the index that ``names`` gives a name.

    Raises:
        ConfigError: With the nearest known name, if there is no such name.
    """
    index = names.get(name)
    if index is None:
        some = ", ".join(list(names)[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        raise ConfigError(path, name, f"{what}: {some}", hint=nearest(name, names))
    return index


def unique(names: list[str], path: str, key: str) -> dict[str, int]:
    """Return the index of each name of a list of blocks.

    Raises:
        ConfigError: At the first name that is there twice.
    """
    index: dict[str, int] = {}
    for place, name in enumerate(names):
        if name in index:
            raise ConfigError(
                f"{path}[{place}].{key}", name, f"{key}s that differ: {path}[{index[name]}] has it already"
            )
        index[name] = place
    return index
