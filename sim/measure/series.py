"""What figures take: time series in equal bins, histograms of times, and bands of state.

Owns their form, in memory and as JSON; a run and a bundle both provide it. It must not know how they were recorded,
nor figures or files. Everything is an integer: counts by bin, and for levels their exact time integral over the bin.
In JSON an integer beyond 2^53-1, which a double cannot hold, is its decimal text; a smaller one never is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self, cast

from sim.measure.quantiles import LogLinearHistogram
from tollgate.core.errors import EvidenceError
from tollgate.core.units import MAX_SAFE_INTEGER

BINS_MAX: Final = 600
"""Spec 00; about one bin for two pixels of a figure."""

SCHEMA: Final = "capacity-series/v1"


class Band(NamedTuple):
    """A stretch of time in one state: a phase, an open or half-open breaker, a pause."""

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
            and ``queue`` are time integrals in ns; ``tokens`` counts tokens asked for, admitted or not. A series that
            would be zero throughout is absent.
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
        try:
            found = cast("dict[str, object]", document)
            if found["schema"] != SCHEMA:
                raise EvidenceError(f"series.schema: got {found['schema']!r}; allowed: {SCHEMA!r}")
            series = cast("list[dict[str, object]]", found["series"])
            histograms = cast("list[dict[str, object]]", found["histograms"])
            bands = cast("list[tuple[str, str, str, int, int]]", found["bands"])
            view = cls(
                bin_ns=int(cast("int", found["bin_ns"])),
                end_ns=int(cast("int", found["end_ns"])),
                series={str(entry["name"]): [int(v) for v in cast("list[int]", entry["values"])] for entry in series},
                histograms={str(entry["name"]): LogLinearHistogram.from_json(entry) for entry in histograms},
                bands=tuple(Band(str(k), str(n), str(s), int(start), int(end)) for k, n, s, start, end in bands),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise EvidenceError(f"series: not what to_json writes ({error!r})") from error
        if view.bin_ns < 1 or any(len(values) != view.bins for values in view.series.values()):
            raise EvidenceError(f"series: got a series that is not {view.end_ns} ns in bins of {view.bin_ns} ns")
        return view


def _spelt(value: int) -> int | str:
    return value if abs(value) <= MAX_SAFE_INTEGER else str(value)


def series_name(metric: str, labels: Mapping[str, str]) -> str:
    """Return the name of a series.

    >>> series_name("shed", {"class": "quiet", "reason": "queue-full"}), series_name("active", {})
    ('shed|class=quiet,reason=queue-full', 'active')
    """
    return f"{metric}|{','.join(f'{key}={value}' for key, value in labels.items())}" if labels else metric
