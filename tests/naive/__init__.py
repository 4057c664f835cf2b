"""Slow twins of fast code, under the same names, as short as the mathematics."""
