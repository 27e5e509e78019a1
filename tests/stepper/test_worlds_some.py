"""Numbers of some worlds: `set(..., where=mask)`, and what arrays, lists and tuples mean."""

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.reference import worlds as reference_worlds
from kickdrift.stepper import worlds as compiled_worlds

COUNT = 4
FIRST, LAST, NONE, ALL = (np.array(mask, np.bool_) for mask in ([1, 1, 0, 0], [0, 0, 1, 1], [0] * 4, [1] * 4))


def made(stepper=kd.Stepper):
    """Return a stepper, and its declarations by name."""
    parts = {
        "pull": kd.Gravity((0.0, -1.0)), "drag": kd.LinearDrag(0.1),
        "spring": kd.Springs([(0, 1), (1, 2)], 2.0, 0.1, 0.1),
        "text": kd.Expression(x="-a*x", a=0.5), "rod": kd.Distance([(2, 3)], length=1.0),
        "soft": kd.Distance([(0, 3)], length=1.5, compliance=1e-3), "box": kd.Box((-9, -9), (9, 9)),
    }  # fmt: skip
    start = [[0.0, 0.0], [0.0, 1.3], [1.0, 1.3], [2.0, 1.3]], [[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [3.0, 1.0]]
    declared = [*parts.values()]
    return stepper(*start, hz=50, forces=declared[:4], constraints=declared[4:]), parts


class Both:
    """Worlds, and a stepper for each of them."""

    def __init__(self, cls):
        template, self.parts = made()
        self.worlds, self.alone = cls(template, COUNT), [made() for _ in range(COUNT)]

    def set(self, name, coefficient, values, where=None):
        """Set values, one for each world of the mask, or one for all of these; then compare."""
        self.worlds.set(self.parts[name], **{coefficient: values}, **({} if where is None else {"where": where}))
        rows = np.arange(COUNT) if where is None else np.flatnonzero(where)
        each = values if isinstance(values, np.ndarray) else [values] * len(rows)
        for i, value in zip(rows, each, strict=True):
            stepper, parts = self.alone[i]
            stepper.set(parts[name], **{coefficient: value})
        self.compare()

    def kill(self, row):
        mask = np.zeros((COUNT, 4), np.bool_)
        mask[:, row] = True
        self.worlds.kill(mask)
        for stepper, _ in self.alone:
            stepper.kill(row)

    def compare(self):
        self.worlds.step(3)
        for stepper, _ in self.alone:
            stepper.step(3)
        for i, (stepper, parts) in enumerate(self.alone):
            assert np.array_equal(self.worlds.position[i], stepper.position)
            assert np.array_equal(self.worlds.velocity[i], stepper.velocity)
            assert repr(self.worlds[i].current(self.parts["rod"])) == repr(stepper.current(parts["rod"]))
        assert self.worlds.checksum().tolist() == [stepper.checksum() for stepper, _ in self.alone]


@pytest.mark.parametrize("killed", [False, True])
def test_numbers_of_some_worlds(Worlds, killed):
    both = Both(Worlds)
    if killed:
        both.kill(2)
    both.set("drag", "coefficient", np.array([0.5, 0.6]), LAST)  # the first numbers of all
    both.set("pull", "acceleration", (0.0, -2.0), FIRST)  # one value for several
    both.set("spring", "stiffness", np.array([3.0, 4.0, 5.0, 6.0]))
    both.set("spring", "stiffness", np.array([7.0, 8.0]), FIRST)  # world 0, too
    both.set("spring", "stiffness", np.array([7.0, 7.0, 7.0]), np.array([0, 1, 1, 1], np.bool_))  # equal again
    both.set("spring", "damping", np.array([0.3]), np.array([0, 0, 0, 1], np.bool_))
    both.set("rod", "length", np.array([1.25, 1.5]), LAST)
    both.set("soft", "length", np.array([1.25, 1.0]), np.array([1, 0, 0, 1], np.bool_))
    both.set("text", "a", np.array([0.25, 0.75]), FIRST)
    both.set("drag", "coefficient", 0.7)  # equal in all worlds, and different again
    both.set("drag", "coefficient", np.array([1.5]), np.array([0, 1, 0, 0], np.bool_))
    both.set("drag", "coefficient", np.array([1.0, 2.0, 3.0, 4.0]), ALL)
    both.set("drag", "coefficient", 9.0, NONE)
    if not killed:
        both.kill(1)
        both.set("spring", "stiffness", np.array([1.0, 2.0]), LAST)


def test_numbers_of_each_body_in_some_worlds(Worlds):
    """If some worlds get numbers of each body, all have them: one binding serves all worlds."""
    (template, parts), alone = made(), [made() for _ in range(COUNT)]
    worlds = Worlds(template, COUNT)
    worlds.set(parts["drag"], coefficient=np.array([0.1, 0.2, 0.3, 0.4]))
    worlds.set(parts["drag"], coefficient=np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]]), where=LAST)
    worlds.set(parts["drag"], coefficient=0.5, where=np.array([0, 1, 0, 0], np.bool_))
    given = [0.1] * 4, [0.5] * 4, [1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]
    worlds.step(5)
    for i, ((stepper, own), value) in enumerate(zip(alone, given, strict=True)):
        stepper.set(own["drag"], coefficient=value)
        stepper.step(5)
        assert np.array_equal(worlds.position[i], stepper.position)
        assert worlds.checksum()[i] == stepper.checksum()
    with pytest.raises(ValueError, match=r"LinearDrag\(coefficient\): expected values of shape \(4,\), .* got \(2,\)"):
        worlds.set(parts["drag"], coefficient=np.ones((2, 2)), where=LAST)


def test_lengths_are_measured_in_some_worlds(Worlds):
    template, parts = made()
    worlds = Worlds(template, COUNT)
    worlds.position[:, 3, 0] = 2.0, 3.0, 4.0, 5.0
    worlds.set(parts["rod"], length=None, where=LAST)
    assert [float(worlds[i].current(parts["rod"]).length.max()) for i in range(COUNT)] == [1.0, 1.0, 3.0, 4.0]
    worlds.position[:, 3, 0] = 9.0
    worlds.set(parts["rod"], length=None, where=np.array([0, 1, 1, 0], np.bool_))
    assert [float(worlds[i].current(parts["rod"]).length.max()) for i in range(COUNT)] == [1.0, 8.0, 8.0, 4.0]


def test_masks_of_some_worlds(Worlds):
    """Bit masks are unsigned, an int is not: NumPy would make floats of both."""
    goal = kd.Sensor((2.0, -1.0), (3.0, 1.0), category=[1, 2], mask=2)
    worlds = Worlds(kd.Stepper(np.zeros((2, 2)), constraints=[goal], events=kd.Events()), COUNT)
    worlds.set(goal, mask=np.array([1, 3]), where=LAST)
    worlds.set(goal, mask=1, where=np.array([1, 0, 0, 0], np.bool_))
    assert [int(worlds[i].current(goal).mask) for i in range(COUNT)] == [1, 2, 1, 3]


@pytest.mark.parametrize(
    ("name", "given", "error", "text"),
    [
        (
            "drag",
            {"coefficient": np.ones(3)},
            ValueError,
            "coefficient: .* an item for each of the 2 worlds of the mask",
        ),
        ("drag", {"coefficient": [1.0, 2.0]}, ValueError, r"coefficient: a list of 2 .* numpy\.array.* tuple"),
        ("drag", {"coefficient": [1.0] * 4}, ValueError, "coefficient: a list of 4 may be meant for all worlds"),
        ("drag", {"coefficient": -1.0}, ValueError, "coefficient"),
        ("drag", {"coefficient": "much"}, TypeError, "coefficient"),
        ("drag", {"stiffness": 1.0}, TypeError, "LinearDrag: expected coefficients .*, got 'stiffness'"),
        ("drag", {"coefficient": None}, TypeError, r"LinearDrag\(coefficient\): expected real numbers, got None"),
        ("rod", {"breaks_at": None}, TypeError, "breaks_at: expected numbers where only some worlds change, got None"),
        ("soft", {"max_length": 1.0}, TypeError, r"Distance\(max_length\): expected numbers in all worlds"),
        ("drag", {"coefficient": 0.0}, ValueError, "a drag is 0 in all or none"),
        ("box", {"radius": 0.1, "offset": 2.0}, TypeError, "offset"),
    ],
)
def test_refused_numbers_of_some_worlds_change_nothing(isa, name, given, error, text):
    found = []
    for refused in (True, False):
        both = Both(kd.Worlds)
        both.set("drag", "coefficient", np.array([0.5, 0.6]), LAST)
        if refused:
            with pytest.raises(error, match=text):
                both.worlds.set(both.parts[name], where=FIRST, **given)
        both.set("spring", "stiffness", np.array([3.0, 4.0]), FIRST)
        found.append(both.worlds.checksum().tolist())
    assert found[0] == found[1]


def test_the_first_kill_comes_after_a_refused_set(Worlds):
    """A refused set leaves a table of numbers, all alike, which is that of a binding without slots."""
    both = Both(Worlds)
    with pytest.raises(ValueError, match="coefficient"):
        both.worlds.set(both.parts["drag"], coefficient=-1.0, where=FIRST)
    both.kill(1)
    both.set("spring", "stiffness", np.array([3.0, 4.0]), LAST)
    both.set("rod", "length", np.array([1.25, 1.5]), FIRST)


@pytest.mark.parametrize("kind", [list, np.array])
def test_coefficients_are_copied(Worlds, kind):
    """Whoever changes a list or an array after `set` changes no world, until it is set again."""
    (template, parts), alone = made(), made()
    worlds, given = Worlds(template, 3), kind([0.1, 0.2, 0.3, 0.4])
    if kind is np.array:
        given = np.array(0.25)
    worlds.set(parts["drag"], coefficient=given)
    alone[0].set(alone[1]["drag"], coefficient=given)
    for _ in range(2):
        given[() if kind is np.array else 0] = 0.75
        worlds.kill(np.zeros((3, 4), np.bool_))  # the first makes another binding, which takes all numbers again
        for each in (worlds, alone[0]):
            each.step(3)
        assert all(np.array_equal(worlds.position[i], alone[0].position) for i in range(3))
        worlds.set(parts["drag"], coefficient=given)
        alone[0].set(alone[1]["drag"], coefficient=given)


def test_where_is_a_mask(Worlds):
    push = kd.AppliedForce(np.zeros((1, 1)))
    worlds = Worlds(kd.Stepper([[0.0]], forces=[push]), 2)
    with pytest.raises(ValueError, match="where: expected none, your array has the forces of all worlds"):
        worlds.set(push, force=np.zeros((2, 1, 1)), where=np.array([True, False]))
    with pytest.raises(TypeError, match="set: expected coefficients by name"):
        worlds.set(push, where=np.array([True, False]))
    template, parts = made()
    worlds = Worlds(template, COUNT)
    for wrong, error in ((np.arange(4), TypeError), (np.ones(3, np.bool_), ValueError)):
        with pytest.raises(error, match=r"where: expected a mask"):
            worlds.set(parts["drag"], coefficient=1.0, where=wrong)


def test_a_change_of_some_worlds_costs_what_these_cost(Worlds, monkeypatch):
    template, parts = made()
    worlds, where, calls = Worlds(template, 200), np.arange(200) % 50 == 3, []
    for module in (compiled_worlds, reference_worlds):
        real = module.renumber
        monkeypatch.setattr(module, "renumber", lambda *given, real=real: calls.append(1) or real(*given))
    for name, coefficient in (("drag", "coefficient"), ("spring", "stiffness"), ("drag", "coefficient")):
        worlds.set(parts[name], **{coefficient: np.arange(1.0, 5.0)}, where=where)
    assert len(calls) <= 3 * where.sum() + 4
    if Worlds is kd.Worlds:
        calls.clear()
        worlds = Worlds(template, 200)
        worlds.set(parts["pull"], acceleration=(0.0, -3.0))  # alike in all
        assert len(calls) <= 4
    assert worlds[7].current(parts["pull"]).acceleration.shape == (2,)


def test_a_list_with_an_item_for_each_world_is_refused(Worlds):
    """Where there are as many bodies as worlds, a list may mean either."""
    drag, lift = kd.LinearDrag(0.1), kd.Boxes([(0, 5), (3, 5), (6, 5)], [(1, 6), (4, 6), (7, 6)])
    worlds = Worlds(kd.Stepper(np.zeros((3, 2)), hz=50, forces=[drag], constraints=[lift]), 3)
    with pytest.raises(ValueError, match=r"coefficient: a list of 3 may .* for each of 3 worlds: write numpy\.array"):
        worlds.set(drag, coefficient=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"lower: a list of 3 may"):
        worlds.set(lift, lower=[(0, 4), (3, 4), (6, 4)])
    worlds.set(drag, coefficient=(1.0, 2.0, 3.0))
    assert [worlds[i].current(drag).coefficient.tolist() for i in range(3)] == [[1.0, 2.0, 3.0]] * 3
    worlds.set(drag, coefficient=np.array([1.0, 2.0, 3.0]))
    assert [worlds[i].current(drag).coefficient.tolist() for i in range(3)] == [1.0, 2.0, 3.0]
    one = Worlds(kd.Stepper([[0.0]], forces=[own := kd.LinearDrag(0.1)]), 1)
    one.set(own, coefficient=[0.5])  # has one meaning
    assert one[0].current(own).coefficient.tolist() == [0.5]


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 4.0, 5.0], (1.0, 2.0, 3.0, 4.0), (1.0,) * 5])
def test_a_wrong_shape_for_all_worlds_says_what_is_needed_for_each(Worlds, values):
    drag = kd.LinearDrag(0.1)
    worlds = Worlds(kd.Stepper(np.zeros((2, 2)), hz=50, forces=[drag]), 4)
    with pytest.raises(
        ValueError, match=r"one value per body, .*; coefficient was taken for all .* needs a NumPy array"
    ):
        worlds.set(drag, coefficient=values)
    worlds.set(drag, coefficient=np.array(values[:4]))
    assert float(worlds[2].current(drag).coefficient) == 3.0 or values == (1.0,) * 5
