"""One small instance: an account with a lease, and shorthands for what the tests of the request path repeat."""

from tollgate.admission.capacity import NoGate
from tollgate.admission.engine import AdmissionEngine
from tollgate.admission.funding import Lease
from tollgate.admission.snapshots import SnapshotMap
from tollgate.admission.usage import UsageSink
from tollgate.core.account_limits import RequestLimits
from tollgate.core.cost import CostTable
from tollgate.core.snapshot import AccountStatus, Snapshot, publishable

ACCOUNT, OTHER_ACCOUNT = "a" * 32, "b" * 32
ANN, BOB = "1" * 32, "2" * 32
REQUEST = "f" * 32
NO_GATE = NoGate()


def snapshot(principal=ANN, **changes):
    """Rules under which class 0 costs 1 an item and class 1 needs permission 2; everything else is unlimited."""
    fields = {
        "account": ACCOUNT,
        "principal": principal,
        "status": AccountStatus.ACTIVE,
        "permissions": 1,
        "limits": RequestLimits(max_items_per_request=10),
        "cost_table": CostTable(weights=(1, 1), permissions=(0, 2)),
        "generation": 1,
        "valid_until_ns": 10**12,
    }
    return Snapshot(**{**fields, **changes})


def lease(granted=100, *, fence=1, usable_until_ns=10**12, low_water=0):
    return Lease(
        "e" * 32,
        granted_units=granted,
        expires_at_ns=usable_until_ns + 5,
        safety_margin_ns=5,
        fencing_token=fence,
        low_water_units=low_water,
    )


class Instance:
    def __init__(self, *snapshots, granted=100, slots=100):
        self.map = SnapshotMap()
        self.engine = AdmissionEngine(self.map)
        self.sink = UsageSink(slots)
        for each in snapshots or (snapshot(),):
            assert self.map.publish(publishable(each), 0)
        self.account = self.map.account((snapshots or (snapshot(),))[0].account)
        if granted:
            self.account.funding.install(lease(granted))

    @property
    def counters(self):
        return self.map.counters

    def begin(self, principal=ANN, required=0, now_ns=0):
        return self.engine.begin(principal, required, now_ns)

    def admit(self, items=1, principal=ANN, now_ns=0):
        return self.begin(principal, now_ns=now_ns).admit([(0, items)], self.sink.try_reserve(), now_ns)

    def ready(self, items=1, principal=ANN, now_ns=0, gate=NO_GATE):
        return self.admit(items, principal, now_ns).acquire_capacity(gate)

    def held(self):
        """Places and slots that somebody still holds: nothing at rest."""
        gauges = [self.map.get(each).gauge.in_use for each in (ANN, BOB) if self.map.get(each)]
        used = 0 if self.account.funding.lease is None else self.account.funding.lease.pending_units
        return (*gauges, self.account.authority.gauge.in_use, used, self.account.funding.overage.pending_units)
