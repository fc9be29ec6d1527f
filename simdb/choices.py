"""Choices: the words that arguments such as `method=` take, as types for type checkers.

A type checker then finds `method="pms"`.  At run time each word is checked as before.  Code that
passes such an argument on can name its type: `def find(method: simdb.choices.MethodName)`.

`MethodName`: "auto", "exhaustive", "bphs", "psm", "multiprobe", "polytope", "rotation", "banding".
`PolicyName`: "connected", "star".
`MatchName`: "all", "first".
`VerifyName`: "estimate", "exact".
`ErrorsName`: "strict", "replace".
`NullName`: "keep", "drop", "error".
`ModeName`: "c", "x", "w", "r".
`DurabilityName`: "full", "process", "none".
"""

from typing import Literal

MethodName = Literal[
    "auto", "exhaustive", "bphs", "psm", "multiprobe", "polytope", "rotation", "banding"
]
PolicyName = Literal["connected", "star"]
MatchName = Literal["all", "first"]
VerifyName = Literal["estimate", "exact"]
ErrorsName = Literal["strict", "replace"]
NullName = Literal["keep", "drop", "error"]
ModeName = Literal["c", "x", "w", "r"]
DurabilityName = Literal["full", "process", "none"]
