"""What a request costs: checked units, the table that prices each class of work, the quote, what each class demands.

    total = max(fixed_request + sum(weight[class] * count), minimum_charge)

is the only formula (spec 02, cost table). The fixed term and the minimum apply once to a request, however many classes
it asks for. All terms are at least 0, so the exact total leaves the range of cost units if and only if some partial sum
or product does: with integers that do not wrap, one comparison at the end checks them all.

This module knows nothing of who pays, of rates or of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, NewType, TypeAlias

from tollgate.core.canonical import JSON, canonical_bytes, sha256_hex
from tollgate.core.errors import CallerError, ConfigError, shown
from tollgate.core.request_denial import RequestDenyReason

__all__ = [
    "CLASSES_MAX",
    "COST_UNITS_MAX",
    "NO_PERMISSIONS",
    "CostTable",
    "Demand",
    "Permissions",
    "Workload",
    "cost_units",
    "permissions",
]

COST_UNITS_MAX: Final = 2**64 - 1
"""Most cost units that one amount may be; also the most items of one class (spec 02, units)."""

CLASSES_MAX: Final = 4096
"""Most classes of one table: more than any price list needs, and few enough to keep a table of each account."""

Permissions = NewType("Permissions", int)
"""A set of at most 64 permissions, as bits: what each of them means is the embedder's."""

NO_PERMISSIONS: Final = Permissions(0)

Workload: TypeAlias = Sequence[tuple[int, int]]
"""What is asked for: pairs of a class (its index in the table) and how many items of it."""

_PERMISSIONS_MAX = 2**64 - 1


def cost_units(value: object, path: str) -> int:
    """Check an amount of cost units and return it.

    Raises:
        ConfigError: If it is no integer of 0 to 2^64 - 1.
    """
    if type(value) is int and 0 <= value <= COST_UNITS_MAX:
        return value
    raise ConfigError(path, value, f"an integer from 0 to {COST_UNITS_MAX}")


def permissions(value: object, path: str = "permissions") -> Permissions:
    """Check a set of permissions and return it.

    Raises:
        ConfigError: If it is no integer of 0 to 2^64 - 1.
    """
    if type(value) is int and 0 <= value <= _PERMISSIONS_MAX:
        return Permissions(value)
    raise ConfigError(path, value, f"64 bits, an integer from 0 to {_PERMISSIONS_MAX}")


class Demand(NamedTuple):
    """What a workload asks for, before any rule has looked at it.

    Attributes:
        permissions: Every permission that a class asked for requires.
        items: How many items of all classes together.
        variable_units: What the items cost without fixed term and minimum, in cost units, exact and so perhaps beyond
            the range; None if a class has no price.
    """

    permissions: Permissions
    items: int
    variable_units: int | None


@dataclass(frozen=True, slots=True)
class CostTable:
    """The price and the demanded permissions of each class of work.

    Two tables that price and demand the same compare equal: permissions that end in empty sets are cut there, so a
    document from before permissions existed equals the same table built today.

    Args:
        weights: Cost units an item, by class, 0 or more; None for a class without a price.
        permissions: What each class requires, by class; may be shorter than ``weights``, the rest require nothing.
        fixed_request: Cost units of every request, once.
        minimum_charge: The least that a request costs, in cost units.

    Raises:
        ConfigError: Naming the value that is out of range, a permission for a class beyond the weights, too many
            classes.

    >>> table = CostTable(weights=(5, None, 2), fixed_request=10, minimum_charge=12)
    >>> table.quote([(0, 3), (2, 1)]), table.quote([(2, 1)]), table.quote([(1, 1)])
    (27, 12, <RequestDenyReason.UNPRICED_OPERATION: 'unpriced_operation'>)
    """

    weights: tuple[int | None, ...]
    permissions: tuple[Permissions, ...] = ()
    fixed_request: int = 0
    minimum_charge: int = 0

    def __post_init__(self) -> None:
        if len(self.weights) > CLASSES_MAX:
            raise ConfigError("weights", f"{len(self.weights)} classes", f"at most {CLASSES_MAX}")
        for index, weight in enumerate(self.weights):
            if weight is not None:
                cost_units(weight, f"weights[{index}]")
        kept = 0
        for index, required in enumerate(self.permissions):
            if permissions(required, f"permissions[{index}]"):
                kept = index + 1
        if kept > len(self.weights):
            raise ConfigError(
                f"permissions[{kept - 1}]", self.permissions[kept - 1], f"{len(self.weights)} classes, as in weights"
            )
        cost_units(self.fixed_request, "fixed_request")
        cost_units(self.minimum_charge, "minimum_charge")
        object.__setattr__(self, "weights", tuple(self.weights))
        object.__setattr__(self, "permissions", tuple(self.permissions[:kept]))

    def read(self, workload: Workload) -> Demand:
        """Add up what a workload asks for.

        A class asked for twice adds up as one; a count of 0 costs nothing and requires nothing, whatever its class.
        The cost grows with the pairs of the workload, never with the table.

        Raises:
            CallerError: If a class is no index or a count no integer of 0 to 2^64 - 1.
        """
        weights = self.weights
        demanded = self.permissions
        required, items, variable = 0, 0, 0
        is_priced = True
        for class_index, count in workload:
            # A negative index would read the table from its end and a negative count would pay for other classes.
            if (
                type(class_index) is not int
                or type(count) is not int
                or class_index < 0
                or not 0 <= count <= COST_UNITS_MAX
            ):
                raise CallerError(
                    f"a workload pairs a class index of at least 0 with a count of 0 to {COST_UNITS_MAX}: "
                    f"got {shown((class_index, count))}"
                )
            if not count:
                continue
            items += count
            if class_index < len(demanded):
                required |= demanded[class_index]
            weight = weights[class_index] if class_index < len(weights) else None
            if weight is None:
                is_priced = False
            else:
                variable += weight * count
        return Demand(Permissions(required), items, variable if is_priced else None)

    def price(self, demand: Demand) -> int | RequestDenyReason:
        """Return what a demand costs in cost units, or why that cannot be said.

        The reasons in order: ``empty_workload``, ``unpriced_operation``, ``cost_overflow``.
        """
        if not demand.items:
            return RequestDenyReason.EMPTY_WORKLOAD
        if demand.variable_units is None:
            return RequestDenyReason.UNPRICED_OPERATION
        return self._total(demand.variable_units)

    def quote(self, workload: Workload) -> int | RequestDenyReason:
        """Return what a workload costs in cost units, or why that cannot be said; see :meth:`read`, :meth:`price`."""
        return self.price(self.read(workload))

    def worst_case(self, max_items: int) -> int | RequestDenyReason:
        """Return the largest quote that any workload of at most ``max_items`` items can have.

        All items in the dearest class: no mix costs more, because the items of all classes together are capped. A table
        without prices quotes nothing, so its worst case is 0. The cost grows with the table.
        """
        dearest = max((weight for weight in self.weights if weight is not None), default=None)
        return 0 if dearest is None else self._total(dearest * max_items)

    def canonical(self) -> bytes:
        """Return the one encoding of the table (RFC 8785); amounts are texts, as JSON readers round large numbers."""
        document: dict[str, JSON] = {
            "fixed_request": str(self.fixed_request),
            "minimum_charge": str(self.minimum_charge),
            "weights": [None if weight is None else str(weight) for weight in self.weights],
        }
        if self.permissions:
            document["permissions"] = [str(required) for required in self.permissions]
        return canonical_bytes(document)

    def digest(self) -> str:
        """Return ``sha256:`` and the digest of :meth:`canonical`: equal tables have equal digests."""
        return "sha256:" + sha256_hex(self.canonical())

    def _total(self, variable_units: int) -> int | RequestDenyReason:
        total = max(self.fixed_request + variable_units, self.minimum_charge)
        return total if total <= COST_UNITS_MAX else RequestDenyReason.COST_OVERFLOW
