import pytest

from tollgate.core.deny import REASONS, Denial, DenyReason, Status
from tollgate.core.errors import Refused

# Specification 01, "Status mapping": by name, so that a row moved by mistake is seen.
SPECIFIED = {
    Status.CANCELLED: {"cancelled"},
    Status.RATE_LIMITED: {"requests-per-minute", "tokens-per-second"},
    Status.BUDGET_EXHAUSTED: {"attempts", "cost", "tokens"},
    Status.TIMEOUT: {"deadline-exceeded", "queue-timeout"},
    Status.OVERLOADED: {
        "unconfigured-provider",
        "unconfigured-principal",
        "batch-size",
        "concurrency",
        "retry-after",
        "circuit-open",
        "queue-full",
    },
    Status.INVALID_REQUEST: {
        "invalid-estimate",
        "request-too-large",
        "too-many-items",
        "retained-work",
        "unknown-retained-work",
        "unknown-cost",
        "unknown-tokens",
    },
}


def test_every_reason_has_one_row_in_the_order_of_the_list():
    assert list(REASONS) == list(DenyReason)


def test_statuses_are_those_of_the_specification():
    assert {status: {r for r in DenyReason if REASONS[r].status is status} for status in Status} == SPECIFIED


def test_what_load_did_not_cause_cannot_be_helped_by_a_retry():
    for reason, facts in REASONS.items():
        assert facts.is_shed or not facts.may_retry, reason


def test_every_reason_says_what_it_means_in_a_sentence():
    for facts in REASONS.values():
        assert facts.meaning[0].isupper()
        assert facts.meaning.endswith(".")


@pytest.mark.parametrize(
    ("denial", "message"),
    [
        (Denial(DenyReason.QUEUE_FULL, 40), "queue-full: retry after 40 ns"),
        (Denial(DenyReason.TOKENS, None), "tokens: a retry cannot help"),
    ],
)
def test_or_raise_carries_the_denial(denial, message):
    with pytest.raises(Refused) as caught:
        denial.or_raise()
    assert caught.value.denial is denial
    assert str(caught.value) == message


def test_status_of_a_denial_is_that_of_its_reason():
    assert Denial(DenyReason.QUEUE_TIMEOUT, None).status is Status.TIMEOUT
