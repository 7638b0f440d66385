"""What figures take: time series in equal bins, histograms of times, and bands of state.

Owns their form, in memory and as JSON; a run and a bundle both provide it. It must not know how they were recorded,
nor figures or files. Everything is an integer: counts by bin, and for levels their exact time integral over the bin.
In JSON an integer beyond 2^53-1, which a double cannot hold, is its decimal text; a smaller one never is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self, cast

from sim.measure.quantiles import LogLinearHistogram
from tollgate.core.errors import EvidenceError, shown
from tollgate.core.units import MAX_SAFE_INTEGER

BINS_MAX: Final = 600
"""Spec 00; about one bin for two pixels of a figure."""

SCHEMA: Final = "capacity-series/v1"

_WHOLE_TEXT: Final = re.compile(r"-?[1-9][0-9]{0,39}", re.ASCII)


class Band(NamedTuple):
    """A stretch of time in one state: a phase, an outage or its ramp, an open or half-open breaker, a pause."""

    kind: str
    label: str
    state: str
    from_ns: int
    to_ns: int


@dataclass(frozen=True, slots=True)
class SeriesView:
    """What figures take.

    Attributes:
        bin_ns: Length of a bin; bin i covers ``[i * bin_ns, (i + 1) * bin_ns)``, the last one ends at ``end_ns``.
        end_ns: End of the run, ns from its start, which is 0.
        series: Values by bin; names as :func:`series_name` makes them. Counts are events in the bin (``arrivals`` by
            intended arrival, ``attempts`` by request, ``admitted`` by decision, the outcomes by settlement); ``active``
            and ``queue`` are time integrals in ns; ``tokens`` counts tokens asked for, admitted or not, ``drawn``
            those that admitted attempts drew, where the profile has a token bucket. A series that would be zero
            throughout is absent.
        histograms: ``queue.wait`` of admitted attempts and ``sojourn`` of completed requests, overall and by class,
            warm-up left out as in the observations.
        bands: In order of kind, then time.
    """

    bin_ns: int
    end_ns: int
    series: Mapping[str, list[int]]
    histograms: Mapping[str, LogLinearHistogram] = field(default_factory=dict)
    bands: tuple[Band, ...] = ()

    @property
    def start_ns(self) -> int:
        """Start of the first bin."""
        return 0

    @property
    def bins(self) -> int:
        """Number of bins, at most ``BINS_MAX``."""
        return -(-self.end_ns // self.bin_ns)

    def values(self, name: str) -> list[int]:
        """Return a series, zeros if nothing of the kind occurred."""
        return self.series.get(name, [0] * self.bins)

    def select(self, metric: str) -> dict[str, list[int]]:
        """Return the series of a metric by their labels, such as ``{"": [...], "class=quiet": [...]}``."""
        split = ((name.partition("|"), values) for name, values in self.series.items())
        return {labels: values for (found, _, labels), values in split if found == metric}

    def _repr_html_(self) -> str:
        """Return what a notebook shows: span, bins, and the total of each series of the whole run."""
        whole = {name: values for name, values in sorted(self.series.items()) if "|" not in name}
        rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{sum(values)}</td></tr>" for name, values in whole.items())
        return (
            f"<table><caption>{self.bins} bins of {self.bin_ns} ns, {self.end_ns} ns in all; "
            f"{len(self.series)} series, {len(self.histograms)} histograms, {len(self.bands)} bands</caption>"
            f"<thead><tr><th>series</th><th>sum</th></tr></thead><tbody>{rows}</tbody></table>"
        )

    def to_json(self) -> dict[str, object]:
        """Return plain integers and texts; names are values, not keys, so that every key is a plain word."""
        return {
            "bands": [list(band) for band in self.bands],
            "bin_ns": self.bin_ns,
            "end_ns": self.end_ns,
            "histograms": [{"name": name, **value.to_json()} for name, value in sorted(self.histograms.items())],
            "schema": SCHEMA,
            "series": [
                {"name": name, "values": [_spelt(value) for value in values]}
                for name, values in sorted(self.series.items())
            ],
        }

    @classmethod
    def from_json(cls, document: object) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            EvidenceError: If it is nothing of the kind.
        """
        found = _table(document, ("bands", "bin_ns", "end_ns", "histograms", "schema", "series"), "series")
        if found["schema"] != SCHEMA:
            raise EvidenceError(f"series.schema: got {shown(found['schema'])}; allowed: {SCHEMA!r}")
        bin_ns, end_ns = (_whole(found[key], f"series.{key}", 1) for key in ("bin_ns", "end_ns"))
        bins = -(-end_ns // bin_ns)
        if bins > BINS_MAX:
            raise EvidenceError(f"series: got {end_ns} ns in bins of {bin_ns} ns; allowed: at most {BINS_MAX} bins")
        return cls(
            bin_ns=bin_ns,
            end_ns=end_ns,
            series={name: _values(entry, bins, name) for name, entry in _by_name(found["series"], "series.series")},
            histograms={
                name: LogLinearHistogram.from_json({key: entry[key] for key in entry if key != "name"})
                for name, entry in _by_name(found["histograms"], "series.histograms")
            },
            bands=tuple(_band(entry, place) for place, entry in enumerate(_list(found["bands"], "series.bands"))),
        )


def _spelt(value: int) -> int | str:
    return value if abs(value) <= MAX_SAFE_INTEGER else str(value)


def series_name(metric: str, labels: Mapping[str, str]) -> str:
    """Return the name of a series.

    >>> series_name("shed", {"class": "quiet", "reason": "queue-full"}), series_name("active", {})
    ('shed|class=quiet,reason=queue-full', 'active')
    """
    return f"{metric}|{','.join(f'{key}={value}' for key, value in labels.items())}" if labels else metric


def _table(value: object, keys: tuple[str, ...], path: str) -> dict[str, object]:
    if not isinstance(value, dict) or sorted(map(str, value)) != sorted(keys):
        raise EvidenceError(f"{path}: got {shown(value)}; allowed: the keys {', '.join(keys)}")
    return cast("dict[str, object]", value)


def _list(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise EvidenceError(f"{path}: got {shown(value)}; allowed: a list")
    return value


def _whole(value: object, path: str, least: int) -> int:
    if type(value) is not int or value < least:
        raise EvidenceError(f"{path}: got {shown(value)}; allowed: an integer of at least {least}")
    return value


def _by_name(entries: object, path: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield rows with their names, each name once."""
    seen = set()
    for place, entry in enumerate(_list(entries, path)):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or name in seen:
            raise EvidenceError(f"{path}[{place}].name: got {shown(name)}; allowed: a name of its own")
        seen.add(name)
        yield name, cast("dict[str, object]", entry)


def _values(entry: dict[str, object], bins: int, name: str) -> list[int]:
    path = f"series.{name}"
    values = _list(_table(entry, ("name", "values"), path)["values"], path)
    if len(values) != bins:
        raise EvidenceError(f"{path}: got {len(values)} values; allowed: one for each of {bins} bins")
    numbers = [value if type(value) is int else _of_text(value) for value in values]
    for place, number in enumerate(numbers):
        if number is None or _spelt(number) != values[place]:
            allowed = "an integer, as a text beyond 2^53-1 and only there"
            raise EvidenceError(f"{path}[{place}]: got {shown(values[place])}; allowed: {allowed}")
    return cast("list[int]", numbers)


def _of_text(value: object) -> int | None:
    return int(value) if isinstance(value, str) and _WHOLE_TEXT.fullmatch(value) else None


def _band(entry: object, place: int) -> Band:
    path = f"series.bands[{place}]"
    parts = _list(entry, path)
    if len(parts) != len(Band._fields) or not all(isinstance(part, str) for part in parts[:3]):
        raise EvidenceError(f"{path}: got {shown(entry)}; allowed: {', '.join(Band._fields)}")
    kind, label, state = (str(part) for part in parts[:3])
    from_ns = _whole(parts[3], path, 0)
    return Band(kind, label, state, from_ns, _whole(parts[4], path, from_ns))
