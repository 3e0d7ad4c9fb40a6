"""Sobol sequences beside torch's, scrambled by the same seeds."""

import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")
pytest.importorskip("scipy", reason="the directions are SciPy's")


def read(t, dimension, **options):
    t.manual_seed(4)
    engine = t.quasirandom.SobolEngine(dimension, **options)
    drawn = [
        engine.draw(),
        engine.draw(3),
        engine.fast_forward(5).draw(2, dtype=t.float64),
        engine.reset().draw_base2(3),
    ]
    drawn.append(engine.reset().fast_forward(1).draw(2, out=t.empty(0)))
    return repr(engine), [each.tolist() for each in drawn], engine.num_generated


@pytest.mark.parametrize("options", [{}, {"scramble": True}, {"scramble": True, "seed": 3}])
@pytest.mark.parametrize("dimension", [1, 5, 300])
def test_the_points_are_torchs(dimension, options):
    assert read(torchlike, dimension, **options) == read(torch, dimension, **options)


def test_refusals():
    for t in (torch, torchlike):
        with pytest.raises(ValueError, match="Supported range of dimensionality"):
            t.quasirandom.SobolEngine(0)
        engine = t.quasirandom.SobolEngine(2)
        engine.draw(3)
        with pytest.raises(ValueError, match=r"n=3\+2\*\*2=7"):
            engine.draw_base2(2)
