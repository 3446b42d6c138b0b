"""Calls that scripts/generate.py made from the OpenAPI document."""
