"""The vocabulary of what holds a request."""

from __future__ import annotations

import pytest

from tollgate.core.deny import DenyReason
from tollgate.decision import Hold


def test_no_hold_has_no_reason():
    assert (Hold.NONE.reason, Hold.NONE.scope) == (None, None)


@pytest.mark.parametrize("hold", [hold for hold in Hold if hold is not Hold.NONE])
def test_each_hold_is_one_of_the_seeds_temporary_reasons_with_a_sentence_of_its_own(hold):
    assert hold.reason in {
        DenyReason.CONCURRENCY,
        DenyReason.RETRY_AFTER,
        DenyReason.CIRCUIT_OPEN,
        DenyReason.REQUESTS_PER_MINUTE,
        DenyReason.TOKENS_PER_SECOND,
    }
    assert hold.text.strip()
    assert len({each.text for each in Hold}) == len(Hold)
    named = [scope for scope in ("principal", "workspace", "provider") if hold.name.startswith(scope.upper())]
    if named:
        assert hold.scope == named[0]
