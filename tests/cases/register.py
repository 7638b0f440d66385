"""Where each public fault case is tested, or why it cannot be expressed yet.

The list of cases is not part of this repository; here stand its ids and our own words. Every id is in exactly one of
the four tables. An id in ``CORE``, ``CONTROLLER`` or ``ELSEWHERE`` has a test of its name, ``test_<id>_...``, in the
file that the table names.
"""

from __future__ import annotations

KINDS: dict[int, tuple[str, ...]] = {
    1: ("C067", "C068", "C070", "C071", "C076", "C080", "C091", "C092"),
    2: ("C011", "C026", "C064"),
    3: ("C001", "C002", "C004", "C008", "C010", "C013", "C014", "C017", "C109", "C110"),
    4: ("C023", "C038"),
    5: ("C005", "C007", "C008", "C034", "C035", "C077"),
    6: ("C016", "C023", "C028", "C029", "C031", "C073", "C074"),
    7: ("C022", "C040", "C041", "C043", "C044"),
    8: ("C046", "C047", "C049", "C050", "C052"),
    9: ("C053", "C055", "C056", "C058", "C059", "C061", "C062", "C064"),
    10: ("C068", "C083", "C085", "C086", "C088", "C089"),
    11: ("C095", "C097", "C098", "C100", "C101", "C103", "C104", "C106", "C107", "C112", "C113"),
    12: (
        *("C115", "C116", "C118", "C119", "C121", "C122", "C131"),
        *("C133", "C134", "C136", "C137", "C139", "C140", "C142"),
    ),
}
"""The twelve kinds of fault and the ids that show them; some ids show two, some belong to none."""

IN_NO_KIND = (
    *("C019", "C020", "C025", "C032", "C037", "C065", "C079", "C082", "C094"),
    *("C124", "C125", "C127", "C128", "C130"),
)

CORE = (
    *("C001", "C002", "C004", "C005", "C010", "C011", "C013", "C014", "C016", "C017", "C019", "C020", "C022", "C023"),
    *("C026", "C028", "C029", "C031", "C032", "C034", "C037", "C038", "C053", "C055", "C056", "C058", "C059", "C061"),
    *("C062", "C064", "C065", "C073", "C074", "C076", "C077", "C079", "C109", "C110", "C112", "C137", "C139", "C140"),
)
"""A bucket, a gauge, a breaker or canonical bytes alone: test_cases_core.py."""

CONTROLLER = ("C025", "C035", "C041", "C067", "C068", "C070", "C071", "C083", "C085", "C089", "C121", "C122")
"""Waiters, turns, queue time, pauses: test_cases_controller.py."""

ELSEWHERE = {
    "C044": "unit/world/test_clients.py",
    "C046": "unit/world/test_backoff.py",
    "C047": "unit/world/test_backoff.py",
    "C049": "unit/world/test_clients.py",
    "C050": "unit/world/test_world.py",
    "C115": "unit/kernel/test_kernel.py",
    "C116": "determinism/test_providers.py",
    "C118": "unit/test_seeds.py",
    "C119": "unit/test_seeds.py",
    "C124": "unit/measure/test_observe.py",
    "C125": "unit/measure/test_quantiles.py",
    "C127": "unit/traces/test_timestamps.py",
    "C128": "unit/traces/test_rows.py",
    "C130": "notebooks/test_quickstart.py",
    "C131": "notebooks/test_headless.py",
    "C133": "notebooks/test_headless.py",
    "C134": "notebooks/test_headless.py",
    "C136": "notebooks/test_headless.py",
    "C142": "unit/evidence/test_record.py",
}
"""Clients, kernel, seeds, measures, records, traces, notebooks: the file of each, below ``tests``."""

LATER: dict[str, str] = {
    # Reservations that are given back.
    "C007": "a bucket has no reservation to cancel yet; they come with the request path",
    "C008": "a bucket has no reservation to cancel yet; they come with the request path",
    # Leases and durable queues.
    "C080": "permits live in one process; leases that expire come with the ledger",
    "C082": "permits live in one process; leases that are renewed come with the ledger",
    "C091": "there is no durable queue yet",
    "C092": "there is no durable queue yet",
    "C094": "there is no durable queue yet, and no second holder of a permit",
    "C052": "there is no durable queue and no dead letter yet",
    # Fairness beyond turns.
    "C086": "a permit has one size and reserved places are not lent; lending comes with tenancy",
    "C088": "lanes take turns and have no priorities, so that there is nothing to age",
    # Clients and their headers.
    "C040": "the controller takes a pause in nanoseconds; header text is read by the HTTP transport",
    "C043": "the controller takes a pause in nanoseconds; header text is read by the HTTP transport",
    # Ledger and calendar.
    "C095": "there are no calendar periods yet",
    "C097": "there are no calendar periods yet",
    "C098": "there are no calendar periods yet",
    "C100": "there are no calendar periods yet",
    "C101": "there are no calendar periods yet",
    "C103": "there are no calendar periods yet",
    "C104": "there is no usage ledger yet",
    "C106": "there is no usage ledger yet",
    "C107": "there is no usage ledger yet",
    "C113": "what was taken is not settled with the true use yet",
}
"""What the mechanisms and the controller cannot express, and why or where."""
