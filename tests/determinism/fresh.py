"""What a program prints in fresh processes, each with another hash seed."""

from __future__ import annotations

import os
import subprocess
import sys


def printed(program, repository, *hash_seeds):
    """Return what a Python program prints, by each hash seed, without the last line feed; equal texts are one."""
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=repository,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(repository)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for seed in hash_seeds
    }
