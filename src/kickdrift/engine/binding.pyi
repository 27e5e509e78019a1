from typing_extensions import disjoint_base

@disjoint_base
class StepNumbers: ...

@disjoint_base
class Binding: ...
