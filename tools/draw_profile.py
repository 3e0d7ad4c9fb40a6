"""Draw the flame graph of a training step, the picture of ``docs/guides/debugging.md``, for wide pages and for narrow ones.

python tools/draw_profile.py --record    # profile twenty steps of the digits example's model, and draw their stacks
python tools/draw_profile.py [--check]   # draw the recorded stacks again, or fail where the pictures are not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from dispatch_devkit.pictures.flame_graph import Cost, FlameGraph

ROOT: Final = Path(__file__).parents[1]
STACKS: Final = ROOT / "docs" / "digits_profile.folded"
#: Picture → its width in pixels.
PICTURES: Final = {"digits_profile.svg": 760, "digits_profile_narrow.svg": 350}
STEPS: Final = 20


def record() -> FlameGraph:
    """Profile training steps, the first ones left out."""
    sys.path.insert(0, str(ROOT / "examples"))
    from train_digits import CLASSES, make_model

    import dispatch_core as dc
    import torchlike

    torchlike.manual_seed(0)
    model = make_model(64, 128, "cpu")
    optimizer = torchlike.optim.Adam(model.parameters())
    images, labels = torchlike.rand(64, 64), torchlike.randint(0, CLASSES, (64,))

    def step() -> None:
        with dc.profile.region("forward"):
            loss = torchlike.nn.functional.cross_entropy(model(images), labels)
        with dc.profile.region("backward"):
            optimizer.zero_grad()
            loss.backward()
        with dc.profile.region("optimizer"):
            optimizer.step()

    # The first calls make their code.
    for _ in range(2 * STEPS):
        step()
    with dc.profile() as profile:
        for _ in range(STEPS):
            step()
    return profile.flame_graph()


def read() -> FlameGraph:
    """Return the recorded stacks; how many calls there were is not in the file."""
    stacks = {}
    for line in STACKS.read_text(encoding="utf-8").splitlines():
        stack, _, time = line.rpartition(" ")
        stacks[tuple(stack.split(";"))] = Cost(int(time), 0)
    return FlameGraph(stacks)


def draw() -> dict[Path, str]:
    """Return each picture by its file."""
    graph = read()
    return {ROOT / "docs" / name: graph.svg(width) for name, width in PICTURES.items()}


def main() -> None:
    """Record and draw, or compare."""
    if "--record" in sys.argv[1:]:
        record().save(STACKS)
    pictures = draw()
    if "--check" not in sys.argv[1:]:
        for path, text in pictures.items():
            path.write_text(text, encoding="utf-8")
        return
    stale = [path.name for path, text in pictures.items() if path.read_text(encoding="utf-8") != text]
    if stale:
        sys.exit(f"not up to date: {', '.join(stale)}; run python tools/draw_profile.py")


if __name__ == "__main__":
    main()
