"""Grammars that decide how a real model answers.

What a model says, and when it stops, differs from one processor to another, so no test may rest
on it. A test that needs an answer of a certain length or shape asks with one of these.
"""

from __future__ import annotations

# Never complete, so the answer ends only at max_tokens or at the end of the context.
ENDLESS = "root ::= [a-z] root"
# One capitalized word, so the answer is never empty.
WORD = "root ::= [A-Z] [a-z]+"
