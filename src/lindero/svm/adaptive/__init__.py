"""Machines with a hyperplane for each sample, which follow a concept that changes."""
