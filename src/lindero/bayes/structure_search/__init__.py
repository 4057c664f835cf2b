"""Structures that are found for prediction: which arcs a Bayesian classifier is to have."""
