"""What is wrong with a manifest before it is run: limits that cannot bind, work that cannot pass, idle gates.

Owns the rules and the findings. A finding follows from the configuration, or says that it is about the offered load;
nothing is simulated and nothing is guessed. It must not know files, commands or how a finding is printed.
"""

from __future__ import annotations

from sim.lint.finding import Basis, Finding, Rule
from sim.lint.rules import RULES, lint

__all__ = ["RULES", "Basis", "Finding", "Rule", "lint"]
