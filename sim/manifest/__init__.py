"""What to run: manifests of three schemas, read strictly into one internal model.

This package owns reading, validating and mapping manifests. It draws no random number, drives no clock and knows nothing of how a run is made.
"""
