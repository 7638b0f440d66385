"""Other disciplines to compare ours with, driven by the same arrivals and measured by the same rows.

A baseline is there to be compared with and never ships: ``tollgate`` cannot import this package.
"""
