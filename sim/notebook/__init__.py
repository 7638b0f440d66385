"""What a notebook calls beside a run and its figures, so that no notebook holds logic of its own.

Owns the strictness about parameters, the comparison with retained records, the words and tables that set two
disciplines side by side, and how a notebook ends that a pipeline waits for. It must not know how a run is made or a
figure drawn.
"""

from __future__ import annotations

from sim.notebook.compare import answer, pairs_of, side_by_side
from sim.notebook.confirm import confirm, result_of
from sim.notebook.parameters import Parameters, parameters
from sim.notebook.qualification import NotQualifiedError, Qualification, conclude, findings, qualification, qualify
from sim.notebook.refusals import story_of_refusal

__all__ = [
    "NotQualifiedError",
    "Parameters",
    "Qualification",
    "answer",
    "conclude",
    "confirm",
    "findings",
    "pairs_of",
    "parameters",
    "qualification",
    "qualify",
    "result_of",
    "side_by_side",
    "story_of_refusal",
]
