"""Check what a store says it has forgotten, without lindero: only Python's own library.

    curl -s localhost:8000/v1/chain > chain.json
    curl -s localhost:8000/v1/models/fraud/forget -d '{"ids": ["card 17"]}' … > receipt.json
    python check_receipt.py chain.json receipt.json [--seen SEQUENCE:HASH]

`chain.json` holds the entries as they were sealed: of the server's /v1/chain (join the parts of a
long one), or what `OnlineStore.log()` returns. It holds no rows. The script says whether

1.  the chain is whole: each hash follows from the entry and the hash before, so that no entry was
    changed, left out or put in;
2.  the receipt is that of its entry;
3.  the rows of the receipt were not learned again under their ids since, as far as entries name
    ids (those of rows that were learned stand with the rows, not in the log);
4.  the model was at its optimum before and after, where it has one;
5.  an entry that you have seen earlier (--seen) is still in the chain: who keeps a hash of last
    month can prove that nothing before it was rewritten.

It cannot prove what a disk holds. Whoever doubts that has to look at the disk.
"""

import argparse
import hashlib
import json
import sys

LARGEST_GAP = 1e-6


def seal(before, entry):
    """The hash of an entry: of the one before, and what it says."""
    parts = [
        entry["sequence"],
        entry["model"],
        entry["kind"],
        float(entry["time"]).hex(),
        entry["key"],
        entry["said"],
    ]
    text = json.dumps(parts, separators=(",", ":"))
    return hashlib.sha256(before + text.encode()).digest()


def find_break(entries):
    """What is wrong with a chain; None if nothing is."""
    before, moment = bytes(32), float("-inf")
    for number, entry in enumerate(entries, 1):
        if entry["sequence"] != number:
            return f"entry {number} is missing"
        if seal(before, entry).hex() != entry["hash"]:
            return f"entry {number} does not follow from those before"
        if entry["time"] < moment:
            return f"entry {number} is older than the one before"
        before, moment = bytes.fromhex(entry["hash"]), entry["time"]
    return None


def find_difference(entries, receipt):
    """How a receipt differs from its entry; None if it does not."""
    if not 1 <= receipt["sequence"] <= len(entries):
        return f"the chain has no entry {receipt['sequence']}"
    entry = entries[receipt["sequence"] - 1]
    said = json.loads(entry["said"])
    for name in ("model", "kind", "time", "hash"):
        if receipt[name] != entry[name]:
            return f"its {name} is another"
    for name, usual in (("ids", []), ("before", None), ("after", None), ("commitments", [])):
        if receipt[name] != said.get(name, usual):
            return f"its {name} are others"
    return None


def find_later(entries, receipt):
    """Later entries of the model that name one of the ids."""
    gone = set(receipt["ids"])
    return [
        entry["sequence"]
        for entry in entries[receipt["sequence"] :]
        if entry["model"] == receipt["model"]
        and gone & set(json.loads(entry["said"]).get("ids", []))
    ]


def check(entries, receipt, seen=()):
    """Findings as pairs: whether it is well, and a sentence."""
    broken = find_break(entries)
    yield broken is None, f"The chain of {len(entries)} entries is {broken or 'whole'}."
    for text in seen:
        sequence, _, known = text.partition(":")
        there = sequence.isdigit() and 1 <= int(sequence) <= len(entries)
        same = there and entries[int(sequence) - 1]["hash"] == known
        yield same, f"Entry {sequence} is {'the one' if same else 'not the one'} seen before."
    different = find_difference(entries, receipt)
    yield (
        different is None,
        f"The receipt is {'not ' if different else ''}that of its entry"
        + (f": {different}." if different else "."),
    )
    if different is not None:
        return
    if receipt["kind"] not in ("forget", "replace"):
        yield False, f"The receipt is of a {receipt['kind']!r}: nothing was forgotten."
        return
    later = find_later(entries, receipt)
    yield (
        not later,
        (
            f"Entries {later} name one of the ids again."
            if later
            else "No later entry names one of the ids."
        ),
    )
    for name in ("before", "after"):
        told = receipt[name]
        if told is None:
            yield True, f"The model has no certificate {name}: it is no optimum of anything."
        else:
            gap = told["kkt_gap"]
            good = gap is not None and abs(gap) <= LARGEST_GAP
            yield good, f"The model was {'' if good else 'not '}at its optimum {name} (gap {gap})."


def read_entries(path):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    return found["entries"] if isinstance(found, dict) else found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chain")
    parser.add_argument("receipt")
    parser.add_argument("--seen", action="append", default=[], metavar="SEQUENCE:HASH")
    given = parser.parse_args()
    with open(given.receipt, encoding="utf-8") as file:
        receipt = json.load(file)
    well = True
    for good, sentence in check(read_entries(given.chain), receipt, given.seen):
        print("yes " if good else "NO  ", sentence)
        well = well and good
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
