"""Measurements of speed: ratios against peers in the same run, each with a bound. ``make bench`` runs them.

They stand apart from the tests because a busy machine moves them. docs/explanation/speed.md says how to read them.
"""
