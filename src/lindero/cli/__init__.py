"""The command line: ``lindero train heart.csv -m svc``. One file a command."""
