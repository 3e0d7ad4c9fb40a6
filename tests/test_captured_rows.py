"""Captured functions whose calls always differ: after too many recordings in a row without a replay they run eagerly."""

import os
import random
import threading
import warnings
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.arrays.frontend import CAPTURING
from torchlike import nn, optim
from torchlike.nn import functional as F  # torch's own abbreviation

#: How many programs are drawn.
PROGRAMS = int(os.environ.get("DISPATCH_TEST_ROWS", "8"))


def count_eager(captured):
    return captured.stats().eager.total()


def call_silently(call, *args):
    """Call a function, and show no warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args)


def tire(captured, make, calls):
    """Call a captured function with ever new arguments until it runs eagerly."""
    for n in range(calls):
        call_silently(captured, *make(n))
    assert not count_eager(captured)


class Model:
    """The rule in plain words, for one kind of signature: an int."""

    def __init__(self, most):
        self.most, self.limit = most, 2 * most + 16
        self.variants, self.candidates = [], []
        self.row, self.pause, self.left = 0, 256, 0
        self.replayed = False

    def call(self, signature):
        if signature in self.variants:
            self.replayed = True
            # The one that was not used for the longest goes first.
            self.variants.remove(signature)
            self.variants.insert(0, signature)
            return "replay"
        if not self.left:
            if self.replayed:
                self.row, self.pause, self.replayed = 0, 256, False
            if self.row == self.limit:
                self.left, self.pause = self.pause, 2 * self.pause
        if self.left:
            self.left -= 1
            if not self.left:
                self.row, self.replayed = 0, False
            return "eager"
        self.row += 1
        found = self.variants if signature in self.candidates else self.candidates
        if found is self.variants:
            self.candidates.remove(signature)
        found.insert(0, signature)
        del found[self.most :]
        return "recording"


def draw(choose):
    """Yield signatures: runs of new ones, of few in turn, of one, and drawn ones."""
    fresh = 0
    while True:
        kind, length = choose.randrange(4), choose.choice((1, 3, 20, 60, 350))
        few = choose.randint(1, 12)
        for each in range(length):
            fresh += kind == 0
            yield (1000 + fresh, each % few, few, choose.randrange(20))[kind]


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_drawn_sequences_follow_the_rule(seed):
    choose = random.Random(seed)
    most = choose.choice((1, 2, 3, 8))
    captured, model, signatures = dc.capture(lambda x, n: x + n, max_variants=most), Model(most), draw(choose)
    x, expected = torchlike.ones(2), dict.fromkeys(("replay", "recording", "eager"), 0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(800):
            n = next(signatures)
            expected[model.call(n)] += 1
            assert captured(x, n).tolist() == [1 + n] * 2
            stats = captured.stats()
            assert (stats.replays, stats.recordings, stats.eager.total()) == tuple(expected.values())
    assert sum("runs eagerly" in str(each.message) for each in said) == (expected["eager"] > 0)


def test_eight_lengths_in_turn_are_replayed():
    captured = dc.capture(lambda x: x * 2)
    for _ in range(6):
        for length in range(1, 9):
            captured(torchlike.ones(length))
    stats = captured.stats()
    assert (stats.recordings, stats.replays, stats.eager.total()) == (16, 32, 0)


def test_ever_new_shapes_are_recorded_a_bounded_number_of_times():
    captured = dc.capture(lambda x: x * 2 + 1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for length in range(1, 2001):
            assert captured(torchlike.ones(length)).tolist() == [3] * length
    (only,) = said
    assert "runs eagerly after 32 calls in a row without a replay, because argument 0 is" in str(only.message)
    assert (only.category, only.filename) == (RuntimeWarning, __file__)
    stats = captured.stats()
    # 32 recordings each, with 256, 512 and 1024 eager calls between them.
    assert (stats.recordings, stats.replays) == (4 * 32, 0)
    assert stats.eager == {"after 32 calls in a row without a replay": 2000 - 4 * 32}
    assert "ran eagerly after 32 calls in a row without a replay: 1872" in captured.explain()


def test_recording_is_tried_again_and_a_replay_begins_a_new_row():
    captured, x = dc.capture(lambda x, n: x + n), torchlike.ones(2)
    tire(captured, lambda n: (x, n), 32)
    for _ in range(256):
        call_silently(captured, x, 0.5)
    assert (count_eager(captured), captured.stats().recordings) == (256, 32)
    for _ in range(3):
        captured(x, 0.5)
    assert (captured.stats().recordings, captured.stats().replays) == (34, 1)
    for n in range(32):
        captured(x, 100 + n)
    assert count_eager(captured) == 256
    for n in range(257):
        captured(x, 200 + n)
    assert (count_eager(captured), captured.stats().recordings) == (512, 34 + 32 + 1)


def test_clear_begins_anew():
    captured, x = dc.capture(lambda x, n: x + n), torchlike.ones(2)
    tire(captured, lambda n: (x, n), 32)
    call_silently(captured, x, 32)
    assert count_eager(captured) == 1
    captured.clear()
    for _ in range(3):
        captured(x, 0)
    assert (count_eager(captured), captured.stats().replays) == (1, 1)


@pytest.mark.parametrize("check", [1, 3])
def test_recordings_because_a_check_is_due_do_not_count(check):
    captured, x = dc.capture(lambda x, n: x + n, check=check, max_variants=1), torchlike.ones(2)
    for _ in range(120):
        captured(x, 1)
    assert count_eager(captured) == 0
    assert captured.stats().recordings == 120 if check == 1 else captured.stats().recordings > 35
    for n in range(60):
        call_silently(captured, x, n // 2 * 2 + 2 if n % 2 else 1)
    assert count_eager(captured) == 0


def test_first_gradients_do_not_count():
    net = nn.ModuleList(nn.Linear(2, 2) for _ in range(20))
    captured = dc.capture(lambda x, layer: layer(x).sum().backward(), max_variants=1)
    # Of each two calls one gives a layer its first gradient, and none is a replay.
    for layer in net[:17]:
        captured(torchlike.ones(2), layer)
        captured(torchlike.ones(2), layer)
    assert (captured.stats().recordings, count_eager(captured)) == (34, 0)
    for layer in net[17:]:
        call_silently(captured, torchlike.ones(2), layer)
        call_silently(captured, torchlike.ones(2), layer)
    assert count_eager(captured) > 0


def test_gradients_that_are_first_in_every_call_count():
    net = nn.Linear(2, 2)

    def train(x):
        net(x).sum().backward()

    captured = dc.capture(train)
    for length in range(1, 41):
        net.zero_grad()
        call_silently(captured, torchlike.ones(length, 2))
    assert count_eager(captured) == 40 - 33


@pytest.mark.parametrize("make", [partial(optim.SGD, momentum=0.9), optim.Adam, optim.NAdam])
def test_training_with_changing_batches_is_what_it_is_eagerly(make):
    def train(capture):
        torchlike.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.2), nn.ReLU(), nn.Linear(4, 1))
        optimizer = make(net.parameters(), lr=0.05)
        schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.99)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            schedule.step()
            return loss

        called = capture(step)
        losses = []
        for batch in (*range(1, 50), *[5] * 4, *range(50, 60)):
            losses.append(call_silently(called, torchlike.randn(batch, 3), torchlike.randn(batch, 1)).item())
        return losses, optimizer.state_dict(), schedule.state_dict(), called

    *eager, _ = train(lambda step: step)
    *found, captured = train(dc.capture)
    assert 25 <= count_eager(captured) <= 35
    assert repr(found) == repr(eager)


def _read_refused():
    """Return the functions that a replay cannot do, of the frontend's tests of captured functions."""
    path = Path(__file__).parents[1] / "packages" / "frontend-torchlike" / "tests" / "test_capture.py"
    spec = spec_from_file_location("captured_functions_that_are_refused", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.REFUSED


REFUSED = _read_refused()


@pytest.mark.parametrize("words", REFUSED)
def test_eager_calls_refuse_by_name_what_recordings_refuse(words):
    refused = []
    captured = dc.capture(lambda n: refused[0]() if refused else torchlike.ones(2) * n)
    tire(captured, lambda n: (n,), 32)
    call_silently(captured, 32)
    refused.append(REFUSED[words]())
    before = count_eager(captured)
    with torchlike.enable_grad(), pytest.raises(dc.CaptureError, match=f"(?i){words}") as caught:
        for n in range(3):
            captured(33 + n)
    assert "Hint: " in str(caught.value)
    assert count_eager(captured) > before
    # Outside of the call nothing is refused, and nothing is left behind.
    x = torchlike.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 2)
    x.sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert not CAPTURING


@pytest.mark.parametrize("make", [lambda: (each for each in [1]), lambda: [iter([1])]])
def test_eager_calls_refuse_generators(make):
    refused = []
    captured = dc.capture(lambda n: make() if refused else torchlike.ones(2) * n)
    tire(captured, lambda n: (n,), 32)
    refused.append(True)
    with warnings.catch_warnings(), pytest.raises(dc.CaptureError, match="whose code would run after"):
        warnings.simplefilter("ignore")
        captured(33)


def test_a_function_that_always_raises_goes_on_to_do_so():
    calls = []

    def read(x, n):
        calls.append(n)
        return x * len(calls)

    reading, changing = dc.capture(lambda x: x.sum().item()), dc.capture(read)
    for length in range(1, 50):
        with pytest.raises(dc.CaptureError, match="reads a value"):
            reading(torchlike.ones(length))
    changing(torchlike.ones(1), 0)
    for _ in range(50):
        with pytest.raises(dc.CaptureError, match="differ"):
            changing(torchlike.ones(1), 0)


def test_traceable_functions_numbers_and_captures_inside_run_in_eager_calls():
    inner = dc.capture(lambda x: x * 3)
    seen = []
    double = dc.capture.traceable(lambda grad: seen.append(1) or grad * 2)

    def outer(n):
        x = torchlike.ones(2, requires_grad=True)
        x.register_hook(double)
        (inner(x) * dc.capture.number(lambda: 2.0)).sum().backward()
        return x.grad

    captured = dc.capture(outer)
    for n in range(40):
        assert call_silently(captured, n).tolist() == [12, 12]
    assert count_eager(captured) == 8
    assert inner.stats().replays == 8 - 2


def test_threads_run_eagerly_together():
    captured, wrong = dc.capture(lambda x, n: x + n), []

    def work(first):
        for n in range(first, first + 200):
            if captured(torchlike.ones(2), n).tolist() != [1 + n] * 2:
                wrong.append(n)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    stats = captured.stats()
    assert not wrong
    assert stats.recordings + stats.eager.total() == 800
    # Those that were under way as a row ended come on top.
    assert 2 * 32 <= stats.recordings <= 3 * (32 + 4)
    assert sum("runs eagerly" in str(each.message) for each in said) == 1
