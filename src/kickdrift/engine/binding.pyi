from typing import Any

from typing_extensions import disjoint_base

SCHEMES: dict[str, Any]
TERMS: dict[str, Any]
PLACES: dict[str, int]

@disjoint_base
class StepNumbers: ...

@disjoint_base
class Binding: ...
