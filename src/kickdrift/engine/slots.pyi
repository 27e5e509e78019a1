from typing_extensions import disjoint_base

@disjoint_base
class Slots: ...

@disjoint_base
class Links: ...

@disjoint_base
class Ends: ...
