"""Kernel machines on a card: torch, and Triton where there is a card, loaded when they are used."""
