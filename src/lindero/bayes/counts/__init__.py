"""Counts of values with the class, and the structure that they tell."""
