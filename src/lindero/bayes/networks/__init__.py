"""Networks: their tables, and exact answers with values missing."""
