"""What differs between what is stored and what was worked out afresh, figure by figure.

Owns finding and telling differences. It must not know why two sides are compared or what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from sim.gates import ObservationRow

SHOWN_MAX: Final = 10
"""Differences between two files that are spelt out; the rest are counted."""


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


def between_files(what: str, stored: object, fresh: object) -> Iterator[Difference]:
    """Yield the first leaves in which two JSON documents differ, and how many there are beyond ``SHOWN_MAX``.

    Args:
        what: Name of the file.
        stored: What it holds.
        fresh: What it should hold.
    """
    count = 0
    for path, was, now in _leaves(stored, fresh, ""):
        count += 1
        if count <= SHOWN_MAX:
            yield Difference(f"{what} {path}" if path else what, was, now)
    if count > SHOWN_MAX:
        yield Difference(f"{what}: {count - SHOWN_MAX} more values", "others", "others")


def _leaves(stored: object, fresh: object, path: str) -> Iterator[tuple[str, object, object]]:
    """Yield the path and both values of every leaf that differs; rows with a name are told by it."""
    if isinstance(stored, dict) and isinstance(fresh, dict):
        for key in {**stored, **fresh}:
            yield from _leaves(stored.get(key), fresh.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(stored, list) and isinstance(fresh, list):
        was, now = _by_name(stored), _by_name(fresh)
        if was is not None and now is not None:
            yield from _leaves(was, now, path)
            return
        for place, (old, new) in enumerate(zip_longest(stored, fresh)):
            yield from _leaves(old, new, f"{path}[{place}]")
    elif stored != fresh or type(stored) is not type(fresh):
        yield path, _told(stored), _told(fresh)


def _told(value: object) -> object:
    return f"{len(value)} entries" if isinstance(value, (dict, list)) else value


def _by_name(rows: list[object]) -> dict[object, object] | None:
    """Return rows by their names, None if they have none."""
    if not rows or not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows):
        return None
    return {row["name"]: row for row in rows if isinstance(row, dict)}
