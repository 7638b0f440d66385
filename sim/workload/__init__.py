"""Offered load: who asks for what, and when.

This package owns arrivals and the draws that belong to an arrival. It must not know limits, controllers or what becomes
of a request.
"""
