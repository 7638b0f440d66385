"""The tree of exceptions: what went wrong, and whose fault it is.

A refusal is a value (:mod:`tollgate.core.deny`), never an exception; only drivers turn one into :class:`Refused`.

::

    TollgateError
    ├── ConfigError         what was handed over as configuration or input cannot be accepted
    ├── CallerError         the program calls the library wrongly
    ├── StoreError          a store failed or answered nonsense
    ├── EvidenceError       a record, bundle or digest does not hold
    ├── InvariantViolation  the library itself is wrong: report it
    └── Refused             a denial, for callers who asked for an exception

This module knows nothing of limits, stores or records.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

__all__ = [
    "CallerError",
    "ConfigError",
    "EvidenceError",
    "InvariantViolation",
    "Refusal",
    "Refused",
    "StoreError",
    "TollgateError",
    "nearest",
    "shown",
]

_SHOWN_CHARACTERS = 80  # a value in a message: enough to recognise it, never a page of it


class TollgateError(Exception):
    """Base of everything this library raises on purpose."""


class ConfigError(TollgateError):
    """Configuration or input that cannot be accepted.

    Args:
        path: Where it stands: a key path such as ``profile.workspace.concurrency``, a row, or a line and column.
            Empty for the document as a whole.
        got: The value found there.
        allowed: What would have been accepted, as the end of the sentence "allowed: ...".
        file: Name of the file, where there is one.
        hint: One more sentence, such as the nearest known name (see :func:`nearest`).
    """

    def __init__(self, path: str, got: object, allowed: str, *, file: str | None = None, hint: str = "") -> None:
        self.path = path
        self.got = got
        self.allowed = allowed
        self.file = file
        self.hint = hint
        where = ": ".join(part for part in (file, path) if part)
        sentence = f"got {shown(got)}; allowed: {allowed}"
        if hint:
            sentence = f"{sentence}; {hint}"
        super().__init__(f"{where}: {sentence}" if where else sentence)

    def within(self, prefix: str = "", *, file: str | None = None) -> ConfigError:
        """Return the same complaint seen from further out.

        Args:
            prefix: Key path of the part that was being read, put before :attr:`path`.
            file: Name of the file it was read from; the one already known is kept.

        >>> str(ConfigError("open_ns", 0, "an integer of at least 1").within("breaker", file="limits.yaml"))
        'limits.yaml: breaker.open_ns: got 0; allowed: an integer of at least 1'
        """
        if prefix and self.path and not self.path.startswith("["):
            prefix += "."
        return ConfigError(prefix + self.path, self.got, self.allowed, file=self.file or file, hint=self.hint)


class CallerError(TollgateError):
    """The calling program broke the contract of a function: a bug on its side."""


class StoreError(TollgateError):
    """A store failed, or returned something that cannot be true."""


class EvidenceError(TollgateError):
    """A record, a bundle or a digest does not hold."""


class InvariantViolation(TollgateError):  # noqa: N818 - named for what happened
    """Something that must always hold does not: a bug in this library, never in its input."""


class Refusal(Protocol):
    """What :class:`Refused` needs to know of a denial; that of the controller and that of the request path have it."""

    @property
    def reason(self) -> str:
        """The label of the reason."""

    @property
    def advice(self) -> str:
        """Whether, and when, a retry helps: the end of a sentence."""


class Refused(TollgateError):  # noqa: N818 - a refusal is not an error
    """A denial raised as an exception, by drivers and by the ``or_raise`` of a denial only.

    Args:
        denial: The refusal; kept as :attr:`denial`.
    """

    def __init__(self, denial: Refusal) -> None:
        self.denial = denial
        super().__init__(f"{denial.reason}: {denial.advice}")


def shown(value: object) -> str:
    """Return ``repr(value)`` cut to a length that fits a one-line message.

    >>> shown("x" * 200)[-12:]
    'xxxxxxxxx...'
    """
    if isinstance(value, int) and value.bit_length() > 8 * _SHOWN_CHARACTERS:
        # repr of an integer beyond 4,300 digits raises; its size is all that matters here.
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the known name closest to an unknown one, or an empty text.

    >>> nearest("concurency", ["concurrency", "max_items"])
    'did you mean "concurrency"?'
    >>> nearest("colour", ["concurrency", "max_items"])
    ''
    """
    import difflib  # noqa: PLC0415 - needed on an error path only, and slow to import

    names = sorted(known)
    # The same characters in another order come first: of "=>", a short one, difflib would say that ">" is closest.
    swapped = [each for each in names if sorted(each) == sorted(name)]
    found = swapped or difflib.get_close_matches(name, names, n=1)
    return f'did you mean "{found[0]}"?' if found else ""
