from __future__ import annotations

import hashlib
import io

import pytest

from sim.measure.outcomes import Outcomes
from sim.trace import AttemptOutcome
from tests.unit.measure.written import MS, Ask, S, Try, shape, write
from tollgate.core.deny import DenyReason

ASKS = [
    # settles last though it came first: everything behind it is held back
    Ask((Try(0, wait=2 * MS, service=MS, outcome=AttemptOutcome.FAILED), Try(5 * S, service=S))),
    Ask((Try(1 * S, service=1_500_000),)),
    Ask((Try(2 * S, outcome=AttemptOutcome.SHED, reason=DenyReason.QUEUE_FULL),)),
    Ask((Try(3 * S, wait=MS, outcome=AttemptOutcome.CANCELLED, reason=DenyReason.CANCELLED),)),
    Ask((Try(4 * S, wait=3 * MS, service=7 * MS, outcome=AttemptOutcome.ABORTED),)),
    Ask((Try(6 * S, service=MS, outcome=AttemptOutcome.FAILED),)),
]

# ordinal outcome attempts settledAtMs queueDelays reason: an attempt that was refused has no delay, and an
# abort in service has no reason (conformance README and section 12 of REFERENCE.md).
TEXT = """\
0 completed 2 6000 2,0 -
1 completed 1 1001.5 0 -
2 shed 1 2000 - queue-full
3 cancelled 1 3001 - cancelled
4 cancelled 1 4010 3 -
5 failed 1 6001 0 -
"""


@pytest.mark.parametrize("block_rows", [1, 2, 1 << 14])
def test_lines_are_in_order_of_arrival_whatever_the_blocks(block_rows):
    out = io.StringIO()
    outcomes = Outcomes(out)
    write(shape(), ASKS).read([outcomes], block_rows=block_rows)
    assert outcomes.hexdigest() == hashlib.sha256(TEXT.encode()).hexdigest()
    assert out.getvalue() == TEXT


def test_nothing_is_held_once_its_line_is_written():
    outcomes = Outcomes()
    write(shape(), ASKS).read([outcomes], block_rows=1)
    assert (len(outcomes._delays), len(outcomes._ahead)) == (0, 0)


def test_no_requests_are_the_empty_text():
    outcomes = Outcomes()
    write(shape(), []).read([outcomes])
    assert outcomes.hexdigest() == hashlib.sha256(b"").hexdigest()
