"""What is made of columns: cuts, moments, attributes."""
