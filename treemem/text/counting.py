"""Lists the English names of numbers, months and days, for all that read or exchange them.

Tested in tests/verify/test_terms.py and tests/checkers/test_variants.py.
"""

from __future__ import annotations

# From zero, each one more than the one before.
UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
# From twenty, each ten more than the one before.
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
MONTHS = (
    "january february march april may june july august september october november december"
).split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
