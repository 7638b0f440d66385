"""Names of the things that are counted by: texts of the controller, wide hexadecimal numbers of the request path.

The host supplies them from a verified identity. They select internal state and never appear in evidence, metric labels
or spans.

An identifier of the request path has one spelling everywhere: its digits, lower case, all of them, without a prefix.
The spelling is also the value, so equal identifiers are equal texts and no form has to be converted into another.
"""

from __future__ import annotations

import re
from typing import Final, NewType

from tollgate.core.errors import ConfigError

__all__ = [
    "LANE_NAME_MAX",
    "UNSTATED_REVISION",
    "AccountId",
    "KeyId",
    "LaneName",
    "LeaseId",
    "PolicyRevision",
    "Principal",
    "RequestId",
    "account_id",
    "key_id",
    "lane_name",
    "lease_id",
    "policy_revision",
    "principal",
    "request_id",
]

LaneName = NewType("LaneName", str)
"""A principal, workspace or provider of the controller: 1 to 128 printable characters."""

LANE_NAME_MAX = 128

AccountId = NewType("AccountId", str)
"""Who holds a balance: 32 lower-case hex digits."""

KeyId = NewType("KeyId", str)
"""Which credential was shown: 32 lower-case hex digits."""

LeaseId = NewType("LeaseId", str)
"""Units given to one instance: 32 lower-case hex digits."""

Principal = NewType("Principal", str)
"""Whom a credential resolves to, on the request path: 32 lower-case hex digits."""

RequestId = NewType("RequestId", str)
"""One request, as its usage event names it: 32 lower-case hex digits."""

PolicyRevision = NewType("PolicyRevision", str)
"""What the embedder calls the policy behind a snapshot: 64 lower-case hex digits, carried and never interpreted."""

UNSTATED_REVISION: Final = PolicyRevision("0" * 64)
"""The revision of a snapshot that states none."""

_ID_DIGITS = 32  # 128 bits
_REVISION_DIGITS = 64  # 256 bits
# Spelled out rather than read by int(x, 16), which would take "0x", "_", blanks, capitals and other scripts' digits.
_HEX = re.compile(r"[0-9a-f]*", re.ASCII)


def lane_name(text: object, path: str = "name") -> LaneName:
    """Check a name and return it.

    Args:
        text: The name; spaces inside are allowed, control characters and line breaks are not.
        path: Key path to name in the error.

    Raises:
        ConfigError: If it is no text, empty, too long, or holds a character that cannot be printed.

    >>> lane_name("quiet-1")
    'quiet-1'
    """
    if isinstance(text, str) and 1 <= len(text) <= LANE_NAME_MAX and text.isprintable():
        return LaneName(text)
    raise ConfigError(path, text, f"1 to {LANE_NAME_MAX} printable characters")


def account_id(text: object, path: str = "account") -> AccountId:
    """Check the spelling of an account and return it.

    Args:
        text: Exactly 32 digits of ``0`` to ``9`` and ``a`` to ``f``.
        path: Key path to name in the error.

    Raises:
        ConfigError: For anything else: capitals, a prefix, another width, something that is no text.

    >>> account_id("0123456789abcdef0123456789abcdef")
    '0123456789abcdef0123456789abcdef'
    """
    return AccountId(_digits(text, _ID_DIGITS, path))


def key_id(text: object, path: str = "key") -> KeyId:
    """Check the spelling of a credential's identifier and return it; as :func:`account_id`."""
    return KeyId(_digits(text, _ID_DIGITS, path))


def lease_id(text: object, path: str = "lease") -> LeaseId:
    """Check the spelling of a lease and return it; as :func:`account_id`."""
    return LeaseId(_digits(text, _ID_DIGITS, path))


def principal(text: object, path: str = "principal") -> Principal:
    """Check the spelling of a principal of the request path and return it; as :func:`account_id`."""
    return Principal(_digits(text, _ID_DIGITS, path))


def request_id(text: object, path: str = "request") -> RequestId:
    """Check the spelling of a request's identifier and return it; as :func:`account_id`."""
    return RequestId(_digits(text, _ID_DIGITS, path))


def policy_revision(text: object, path: str = "policy_revision") -> PolicyRevision:
    """Check the spelling of a policy revision and return it; as :func:`account_id`, with 64 digits."""
    return PolicyRevision(_digits(text, _REVISION_DIGITS, path))


def _digits(text: object, width: int, path: str) -> str:
    if isinstance(text, str) and len(text) == width and _HEX.fullmatch(text):
        return str(text)
    raise ConfigError(path, text, f"exactly {width} digits, each 0 to 9 or a to f")
