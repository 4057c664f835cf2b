"""Cases by the million: fits, streams, files and tables that nobody would make on purpose.

    python -m tests.fuzz --cases 20000             # of all kinds
    python -m tests.fuzz --minutes 60 --kinds fits
    python -m tests.fuzz --replay fits 4711        # one case, in this process

A kind is a module with ``play(seed) -> str``. It makes one case from a seed, tries it, and says how
it ended; whatever must not happen it raises as `Broken`. Cases run in processes of their own, so
that a crash or a case without an end is found, counted and named by its seed like any other.
"""
