"""How arithmetic may be rearranged in compiled code.

numba's ``fastmath=True`` also lets the compiler assume that no value is ever infinite or not a
number, under which bounds of infinity and empty searches (a least value of +∞) are compared
wrongly. `FAST` allows only what makes loops fast: sums in any order, fused multiplications.

And ``fastmath`` is inherited: a function compiled without a word about it, on behalf of one with
it, gets it too and is kept in the cache like that. So functions that others call say `EXACT`.
"""

#: Sums and products may be rearranged; infinities and NaN keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}

#: The same, and nothing is ever NaN: what clamping of values needs to be turned into vector code.
FINITE = FAST | {"nnan"}

#: Nothing may be rearranged, whoever calls.
EXACT = False
