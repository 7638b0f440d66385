"""The lab: drives the production code of ``tollgate`` under a fake clock and records what a set of limits does."""
