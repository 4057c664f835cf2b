"""Searches over C and gamma by cross-validation."""
