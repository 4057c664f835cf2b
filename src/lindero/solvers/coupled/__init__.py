"""Hyperplanes that are coupled along a chain, or on any graph."""
