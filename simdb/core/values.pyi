from dataclasses import (
    InitVar as InitVar,
    asdict as asdict,
    astuple as astuple,
    dataclass as dataclass,
    field as field,
    fields as fields,
    replace as replace,
)
