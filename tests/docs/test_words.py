"""Identifiers of the source use standard terms: words of a private vocabulary are banned."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "src" / "kickdrift"
#: What to write instead: event, contact, generation, needs_start, delta_v, time since impact, thermostat, filter, ...
BANNED = {"tell", "tells", "telling", "meet", "meets", "meeting", "meetings", "tenant", "tenants", "young", "newborn"}
BANNED |= {"gain", "gains", "ago", "stir", "stirred", "lean", "leaning", "muster", "crew", "notice", "noticed"}
BANNED |= {"park", "parked", "lone", "rub", "ways", "whoever", "hear", "hears"}
ASIDE = re.compile(r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*', re.DOTALL)


@pytest.mark.skipif(not ROOT.exists(), reason="the sources are not beside the tests")
def test_no_identifier_is_of_the_private_vocabulary():
    found = {}
    for path in sorted(ROOT.rglob("*.py*")) + sorted(ROOT.rglob("*.pxd")):
        if path.suffix in (".py", ".pyi", ".pyx", ".pxd"):
            code = ASIDE.sub(" ", path.read_text(encoding="utf-8"))
            banned = BANNED & set(re.findall(r"[A-Za-z_]\w*", code))
            if banned:
                found[str(path.relative_to(ROOT))] = sorted(banned)
    assert found == {}, "expected words of the field: event, contact, ... (see the comment above BANNED)"
