"""Recorded traffic: reading it, describing it, and replaying it row by row.

``inspect`` describes a trace, ``to_manifest`` writes a manifest that replays it, ``replay`` yields its arrivals. Real
files come with step backs, holes and odd digits: each is an error that names the row, or a repair that the user asked
for and that is counted.
"""
