"""One manifest gives one list of arrivals, in this process and in fresh ones with other hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.unit.workload.manifests import TWO_STREAMS, digest_of, manifest_of, rows_of

PROGRAM = "from tests.unit.workload.manifests import *; print(digest_of(rows_of(manifest_of(TWO_STREAMS))))"


def test_hash_seeds_do_not_change_arrivals(repository):
    here = digest_of(rows_of(manifest_of(TWO_STREAMS)))
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=repository,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(repository)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for seed in ("0", "1", "4242")
    }
    assert found == {here}
