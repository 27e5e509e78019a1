COMPILER: str
FLAGS: str
BUILD: str
SUPPORTED: tuple[str, ...]
