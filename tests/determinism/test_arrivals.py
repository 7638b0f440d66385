"""One manifest gives one list of arrivals, in this process and in fresh ones with other hash seeds."""

from __future__ import annotations

from tests.determinism.fresh import printed
from tests.unit.workload.manifests import KINDS, TWO_STREAMS, digest_of, manifest_of, many_streams, rows_of

EVERY_KIND = many_streams(KINDS)
PROGRAM = """\
from tests.unit.workload.manifests import *
print(digest_of(rows_of(manifest_of(TWO_STREAMS))))
print(digest_of(rows_of(manifest_of(many_streams(KINDS)))))
"""


def test_hash_seeds_do_not_change_arrivals(repository):
    here = "\n".join(digest_of(rows_of(manifest_of(text))) for text in (TWO_STREAMS, EVERY_KIND))
    assert printed(PROGRAM, repository, "0", "1", "4242") == {here}
