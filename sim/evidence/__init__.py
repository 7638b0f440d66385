"""Digest-bound records of runs: built, written, read and checked again.

This package owns the record ``capacity-result/v1``, the bundle around it and the export in the form of the seed. It
runs nothing: whoever re-runs a manifest hands the run in.
"""
