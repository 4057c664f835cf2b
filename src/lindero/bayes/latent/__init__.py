"""Latent classes: clusters of rows whose class nobody has seen."""
