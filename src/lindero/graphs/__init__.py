"""Neighbourhoods of time and place, and how equations on them are solved."""
