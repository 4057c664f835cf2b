"""Machines that learn and forget single samples, exactly."""
