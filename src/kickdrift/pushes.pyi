from typing_extensions import disjoint_base

from .core import Core

@disjoint_base
class Swept(Core): ...
