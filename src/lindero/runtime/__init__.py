"""What every compiled loop stands on: array types, threads, rules of arithmetic."""
