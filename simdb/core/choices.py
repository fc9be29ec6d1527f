"""Choices: the words that arguments such as `search=` take, as types for type checkers.

With these types, a type checker refuses `search="pms"`; at run time each word is checked as well.
Code that passes such an argument on can name its type:
`def find(method: simdb.core.choices.MethodName)`.

`MethodName`: "auto", "exhaustive", "bphs", "psm", "multiprobe", "polytope", "rotation", "banding".
`PolicyName`: "connected", "star".
`MatchName`: "all", "first".
`VerifyName`: "estimate", "exact", "numbers".
`RuleName`: "similar", "contained".
`ActionName`: "drop", "cut", "mark".
`NumbersName`: "same", "any".
`PartName`: "document", "paragraph", "line", "sentence".
`ErrorsName`: "strict", "replace".
`FormatName`: "jsonl", "csv", "tsv", "parquet", "arrow", "text", "lines", "warc", "mbox".
`NullName`: "keep", "drop", "error".
`ConflictName`: "same", "skip", "replace", "error".
`MissingName`: "error", "skip".
`OnErrorName`: "raise", "skip"; `OnError` adds a function of row, id and reason.
`ShardByName`: "id", "fingerprint".
`ModeName`: "c", "x", "w", "r".
`DurabilityName`: "full", "process", "none".
`TimesName`: "none", "inserted", "seen".
`ClustersName`: "none", "distance", "similarity".
`MeasureName`: "jaccard", "cosine"; None for hashes.
`MarkupName`: "none", "html".
`NormalisationName`: "none", "nfc", "nfkc", "lenient".
`MarksName`: "keep", "drop".
`UnitName`: "words", "characters", "whitespace", "moz".
`ByCharacterName`: "", "spaceless", "cjk".
`SimhashWeightingName`: "binary", "tf", "log-tf", "binary-idf", "tf-idf", "log-tf-idf".
`MinhashWeightingName`: "set", "bag", "tf", "tf-idf".
`FamilyName`: "stratified", "multiply-shift", "mersenne", "one-permutation",
"datasketch-affine32", "datasketch-legacy", "datasketch-affine64", "datasketch-weighted".
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

MethodName = Literal[
    "auto", "exhaustive", "bphs", "psm", "multiprobe", "polytope", "rotation", "banding"
]
PolicyName = Literal["connected", "star"]
MatchName = Literal["all", "first"]
VerifyName = Literal["estimate", "exact", "numbers"]
RuleName = Literal["similar", "contained"]
RULES = SIMILAR, CONTAINED = ("similar", "contained")
ActionName = Literal["drop", "cut", "mark"]
NumbersName = Literal["same", "any"]
PartName = Literal["document", "paragraph", "line", "sentence"]
ErrorsName = Literal["strict", "replace"]
FormatName = Literal["jsonl", "csv", "tsv", "parquet", "arrow", "text", "lines", "warc", "mbox"]
NullName = Literal["keep", "drop", "error"]
ON_NULL = DROP, KEEP, ERROR = ("drop", "keep", "error")
ConflictName = Literal["same", "skip", "replace", "error"]
MissingName = Literal["error", "skip"]
ShardByName = Literal["id", "fingerprint"]
SHARD_BY = BY_ID, BY_FINGERPRINT = ("id", "fingerprint")
OnErrorName = Literal["raise", "skip"]
OnError: TypeAlias = OnErrorName | Callable[[int, Any, str], object]
RAISE: OnErrorName
SKIP: OnErrorName
RAISE, SKIP = "raise", "skip"
ModeName = Literal["c", "x", "w", "r"]
DurabilityName = Literal["full", "process", "none"]
TimesName = Literal["none", "inserted", "seen"]
ClustersName = Literal["none", "distance", "similarity"]
MeasureName: TypeAlias = Literal["jaccard", "cosine"] | None
MarkupName = Literal["none", "html"]
NormalisationName = Literal["none", "nfc", "nfkc", "lenient"]
MarksName = Literal["keep", "drop"]
UnitName = Literal["words", "characters", "whitespace", "moz"]
ByCharacterName = Literal["", "spaceless", "cjk"]
SimhashWeightingName = Literal["binary", "tf", "log-tf", "binary-idf", "tf-idf", "log-tf-idf"]
MinhashWeightingName = Literal["set", "bag", "tf", "tf-idf"]
FamilyName = Literal[
    "stratified", "multiply-shift", "mersenne", "one-permutation", "datasketch-affine32",
    "datasketch-legacy", "datasketch-affine64", "datasketch-weighted",
]  # fmt: skip
