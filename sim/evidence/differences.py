"""What differs between what is stored and what was worked out afresh, figure by figure.

Owns finding and telling differences. It must not know why two sides are compared or what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sim.gates import ObservationRow


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure that the two sides give otherwise.

    Attributes:
        what: A metric, or the kind and id of a row and the field in it.
        stored: The stored value, None for an absent one.
        fresh: The value worked out afresh, None for an absent one.
        labels: Labels of a metric.
    """

    what: str
    stored: object
    fresh: object
    labels: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        labels = ",".join(f"{key}={value}" for key, value in sorted(self.labels.items()))
        stored, fresh = ("nothing" if value is None else value for value in (self.stored, self.fresh))
        return f"{self.what}{f'{{{labels}}}' if labels else ''}: stored {stored}, fresh {fresh}"


def between_observations(stored: Iterable[ObservationRow], fresh: Iterable[ObservationRow]) -> Iterator[Difference]:
    """Yield the metrics that differ, in the order of a record."""
    before, after = (
        {(row["metric"], tuple(sorted(row["labels"].items()))): row for row in rows} for rows in (stored, fresh)
    )
    for metric, labels in sorted({**before, **after}):
        old, new = before.get((metric, labels)), after.get((metric, labels))
        for entry in ("value", "unit", "n", "half_width"):
            was, now = (None if row is None else row.get(entry) for row in (old, new))
            if was != now:
                yield Difference(metric if entry == "value" else f"{metric} {entry}", was, now, dict(labels))


def between_rows(
    what: str, stored: Iterable[Mapping[str, object]], fresh: Iterable[Mapping[str, object]], *, key: str
) -> Iterator[Difference]:
    """Yield each field in which rows of the same key differ.

    Args:
        what: Kind of row, for the difference's name.
        stored: The stored rows.
        fresh: The rows worked out afresh.
        key: Field that tells rows apart.
    """
    before, after = ({str(row[key]): row for row in rows} for rows in (stored, fresh))
    for name in {**before, **after}:
        yield from between_tables(f"{what} {name}", before.get(name, {}), after.get(name, {}))


def between_tables(what: str, stored: Mapping[str, object], fresh: Mapping[str, object]) -> Iterator[Difference]:
    """Yield each entry in which two tables differ."""
    for entry in {**stored, **fresh}:
        if stored.get(entry) != fresh.get(entry):
            yield Difference(f"{what} {entry}", stored.get(entry), fresh.get(entry))
