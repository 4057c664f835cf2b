"""The playground: a page on which points are drawn, and every machine shows what it makes of them.

``lindero play`` starts it. `machines.py` is the list of machines, `panel.py` what one of them
shows, `studio.py` the process that computes, `protocol.py` what may be said to it, `server.py` who
may say it, and `static` the page.
"""
