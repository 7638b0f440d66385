"""Drivers: what connects the pure state machines with a real clock and an event loop.

A driver tells a state machine the time and carries out what it says; it decides nothing itself.
"""
