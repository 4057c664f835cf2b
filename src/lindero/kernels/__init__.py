"""Kernel values, in blocks: functions, operators over samples, cached rows, threads."""
