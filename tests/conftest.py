"""What every test shares: how hard Hypothesis searches, and where reference material may be found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadline: a verdict does not depend on how busy the machine is. Derandomised: `make test` says the same thing
# twice; `make long` searches anew each time and prints the example that it found.
settings.register_profile("default", deadline=None, database=None, derandomize=True)
settings.register_profile(
    "long", deadline=None, database=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of this checkout."""
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference material that the repository does not carry; the test is skipped where it is absent."""
    folder = os.environ.get("TOLLGATE_SHARED")
    if folder is None:
        pytest.skip("TOLLGATE_SHARED is not set: this test reads reference material that the repository does not carry")
    return Path(folder)
