"""The closed list of the request path: labels, classes, and what a refusal looks like."""

import re

import pytest

from tollgate.core.errors import Refused
from tollgate.core.request_denial import RETRY, RequestDenial, RequestDenyReason, Retry, denial

# Spec 02, refusals.
TRANSIENT = """snapshot_expired rate_limited request_rate_limited concurrency_limited lease_unavailable lease_expired
lease_exhausted overage_cap_exhausted overage_cap_temporarily_exhausted accounting_backpressure funding_expired_at_start
capacity_unavailable"""
NEVER = """unknown_principal account_suspended account_closed missing_permission request_too_large unpriced_operation
unpriceable_under_limits cost_overflow empty_workload balance_exhausted balance_insufficient"""


def test_every_label_has_the_class_of_the_specification():
    expected = dict.fromkeys(TRANSIENT.split(), Retry.TRANSIENT)
    expected |= dict.fromkeys(NEVER.split(), Retry.NEVER)
    expected["overage_commit_in_progress"] = Retry.AFTER_IN_FLIGHT
    assert {reason.value: reason.retry for reason in RequestDenyReason} == expected
    assert dict(RETRY) == {RequestDenyReason(label): retry for label, retry in expected.items()}


def test_ordinals_are_dense_and_in_order():
    assert [reason.ordinal for reason in RequestDenyReason] == list(range(len(RequestDenyReason)))


def test_a_denial_names_no_instant_and_is_raised_on_demand():
    refused = denial(RequestDenyReason.RATE_LIMITED)
    assert refused is denial(RequestDenyReason.RATE_LIMITED)
    assert refused._fields == ("reason", "remaining_units")
    with pytest.raises(Refused, match=r"^rate_limited: a retry may help$") as raised:
        refused.or_raise()
    assert raised.value.denial is refused


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        (RequestDenyReason.BALANCE_INSUFFICIENT, "a retry cannot help"),
        (RequestDenyReason.OVERAGE_COMMIT_IN_PROGRESS, "in flight has ended"),
    ],
)
def test_advice_follows_the_class(reason, advice):
    with pytest.raises(Refused, match=advice):
        RequestDenial(reason, 3).or_raise()


def test_reference_page_lists_every_reason_in_order(repository):
    page = (repository / "docs" / "reference" / "request-path.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+)` \| `(transient|after_in_flight|never)` \|", page, re.MULTILINE)
    assert rows == [(reason.value, reason.retry.value) for reason in RequestDenyReason]
