"""Characters that came after Unicode 13.0.0 and that normalisation would change.

Written by tools/generate/normalisation_table.py.
"""

UNICODE_VERSION = "18.0.0"

# First and last code point of each range.
NEWER_RANGES = """
558-558 58b-58c 5c8-5c9 897-89f 8ca-8d2 c3c-c3c 1715-1715 1ac1-1af0 1dfa-1dfa 209d-209f a7f1-a7f4
105c9-105c9 105d2-105d2 105da-105da 105e4-105e4 10781-10785 10787-107b0 107b2-107bf 10d69-10d6d
10ecb-10ecf 10ef0-10efb 10efd-10eff 10f82-10f85 11070-11070 11382-11385 1138b-1138b 1138e-1138e
11390-11391 113b8-113b8 113bb-113bb 113c2-113c2 113c5-113c5 113c7-113c9 113ce-113d0 11f41-11f42
1611e-16129 1612f-1612f 16d63-16d63 16d67-16d6a 1b123-1b126 1ccd6-1ccf9 1d127-1d128 1d250-1d252
1d25b-1d25c 1d25f-1d25f 1d280-1d281 1d6a6-1d6a6 1df04-1df06 1df08-1df0b 1df19-1df19 1df1c-1df1c
1df1e-1df1e 1df2b-1df2c 1df3e-1df3f 1df50-1df50 1df57-1df59 1df95-1df95 1dfcd-1dfff 1e030-1e06d
1e08f-1e08f 1e2ae-1e2ae 1e4ec-1e4ef 1e5ee-1e5ef 1e6e3-1e6e3 1e6e6-1e6e6 1e6ee-1e6ef 1e6f5-1e6f5
"""
