"""Models as graphs of ONNX: columns of a table, kernel machines, and Bayesian networks."""
