"""Collectives by the gloo inside XLA: each is compiled once for a shape and a dtype, and runs in a thread of its own.

Note [No coordinator stays]
    The processes of a group find each other by a coordinator of JAX, which ends each process that misses another.
    Gloo needs it until its own connections are made; then all leave it. So each group has one, and clients of its own, which
    are beside those of the JAX that a program uses.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dispatch_aten.collectives import (
    CollectiveError,
    Deferral,
    ProcessGroup,
    RankLostError,
    after,
    current_deferral,
    find_port,
)

from ..arrays import Array
from .connection import Connection, wait_for
from .worker import CallThread, ThreadCall

__all__ = ["GlooConnection", "connect"]

_AXIS: Final = "ranks"
#: How many seconds the store may take to tell which rank is gone.
_PATIENCE: Final = 2.0
#: For how many seconds a wait does not look at the time.
_SLICE: Final = 0.05
#: How many seconds processes may take to leave the coordinator.
_LEAVING: Final = 5
_FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "sum": lambda x: lax.psum(x, _AXIS),
    "min": lambda x: lax.pmin(x, _AXIS),
    "max": lambda x: lax.pmax(x, _AXIS),
    "product": lambda x: jnp.prod(lax.all_gather(x, _AXIS), axis=0, dtype=x.dtype),
    "band": lambda x: jnp.bitwise_and.reduce(lax.all_gather(x, _AXIS), axis=0),
    "bor": lambda x: jnp.bitwise_or.reduce(lax.all_gather(x, _AXIS), axis=0),
    "bxor": lambda x: jnp.bitwise_xor.reduce(lax.all_gather(x, _AXIS), axis=0),
    "gather": lambda x: lax.all_gather(x, _AXIS, tiled=True),
    "scatter": lambda x: lax.psum_scatter(x, _AXIS, tiled=True),
    "from 0": lambda x: lax.ppermute(x, _AXIS, [(0, 1)]),
    "from 1": lambda x: lax.ppermute(x, _AXIS, [(1, 0)]),
}
#: Between two ranks one message each way is all that it takes, where gloo's ring sends several.
_OF_TWO: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "sum": jnp.add,
    "min": jnp.minimum,
    "max": jnp.maximum,
    "product": jnp.multiply,
    "band": jnp.bitwise_and,
    "bor": jnp.bitwise_or,
    "bxor": jnp.bitwise_xor,
}


def connect(group: ProcessGroup) -> GlooConnection:
    """Return an engine for a group, all of whose processes call this.

    Raises ``CollectiveError`` where this JAX has no gloo, and as the store does.
    """
    made = GlooConnection(group)
    made.finish("connect", made.opened)
    return made


def _address_of(group: ProcessGroup) -> str:
    """Return the address of this process that reaches the store's, which the others reach, too."""
    host = getattr(group.store, "host", "127.0.0.1")
    found = socket.getaddrinfo(host, group.store.port if hasattr(group.store, "port") else 1, type=socket.SOCK_DGRAM)[0]
    with socket.socket(found[0], socket.SOCK_DGRAM) as made:
        made.connect(found[4])  # nothing is sent
        return str(made.getsockname()[0])


class GlooConnection(Connection):
    """The devices of a group's processes, and the collectives that were compiled for them."""

    def __init__(self, group: ProcessGroup) -> None:
        super().__init__(group)
        self._thread: CallThread | None = CallThread("gloo", partial(jax.enable_x64, True))
        self._failure: CollectiveError | None = None
        self._compiled: dict[tuple[Any, ...], Any] = {}
        #: The rank that sends, and the one that receives → the connection of the two.
        self._pairs: dict[tuple[int, int], GlooConnection] = {}
        self.opened = self._thread.call(self._open)

    def _open(self) -> None:
        """Connect the processes, see Note [No coordinator stays]."""
        group, here = self.group, _address_of(self.group)
        host = group.gather_bytes("gloo", here.encode())[0].decode()
        port = int(group.share("port", lambda: b"%d" % find_port(host)))
        try:
            service, client = _open_client(group, f"{host}:{port}")
            self._device, mesh = _open_devices(group, client, here)
        except (AttributeError, ImportError, TypeError) as error:
            raise CollectiveError(
                f"JAX {jax.__version__} has no gloo as it is known here: {error}", hint="start the program by mpirun"
            ) from error
        self._sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(_AXIS))
        self._compute("sum", np.zeros(1, np.uint8))
        client.shutdown()
        if service is not None:
            service.shutdown()

    def close(self) -> None:
        """Give the thread and the connections back."""
        super().close()
        thread, self._thread = self._thread, None
        self._compiled.clear()
        if thread is not None:
            thread.end()
        for each in self._pairs.values():
            each.close()

    def leave(self) -> None:
        """Wait for the thread, which would end the process by a signal if it came back after Python's end."""
        if self._failure is not None and self._thread is not None and not self._thread.call(int).wait(_PATIENCE):
            os._exit(1)

    def _combine(self, name: str, array: Array, reduction: str, into: Array) -> None:
        if name == "all_reduce":
            self._run(name, reduction, array, into)
        elif reduction == "sum":
            self._run(name, "scatter", array, into)
        else:
            made = np.empty_like(array)
            self._run(name, reduction, array, made)
            part = made[len(into) * self.group.rank :][: len(into)]
            after(lambda: np.copyto(into, part))

    def _all_gather(self, array: Array, into: Array) -> None:
        self._run("all_gather", "gather", array.reshape(-1).view(np.uint8), into.reshape(-1).view(np.uint8))

    def _broadcast(self, into: Array, root: int) -> None:
        """Send bytes to the other of two ranks; of more, add them, which are zero in all ranks but one."""
        taken, is_root = into.reshape(-1).view(np.uint8), self.group.rank == root
        if self.group.size == 2:
            self._run("broadcast", f"from {root}", taken, None if is_root else taken)
        else:
            self._run("broadcast", "sum", taken if is_root else np.zeros_like(taken), taken)

    def _exchange(self, sends: Sequence[tuple[Array, int]], receives: Sequence[tuple[Array, int]]) -> None:
        """Broadcast each message in the pair of its ranks, which has a thread of its own."""
        rank = self.group.rank
        messages = [(rank, other, array) for array, other in sends] + [
            (other, rank, array) for array, other in receives
        ]
        with Deferral() as left:
            for source, target, array in messages:
                self._find_pair(source, target)._broadcast(array, 0)
        if (outer := current_deferral()) is None:
            left.finish()
        else:
            outer.add(left.is_done, left.finish)

    def _find_pair(self, source: int, target: int) -> GlooConnection:
        found = self._pairs.get((source, target))
        if found is None:
            world = self.group
            rank, ranks = int(world.rank == target), (world.ranks[source], world.ranks[target])
            name = f"{world.name}/{source} to {target}"
            made = ProcessGroup(rank, 2, world.store, name, world.backend, world.timeout, ranks)
            found = self._pairs[source, target] = GlooConnection(made)
        return found

    def _run(self, name: str, function: str, array: Array, into: Array | None) -> None:
        """Run a collective in the thread, and write its result to an array; wait for it unless it is deferred."""
        if self._failure is not None:
            raise self._failure
        if self._thread is None:
            raise CollectiveError(f"the connection of group {self.group.name!r} was closed")
        call = self._thread.call(partial(self._compute, function, array))

        def finish() -> None:
            made = self.finish(name, call)
            if into is not None:
                np.copyto(into, made.reshape(into.shape))

        left = current_deferral()
        if left is None:
            finish()
        else:
            left.add(call.is_done, finish)

    def finish(self, name: str, call: ThreadCall) -> Any:
        """Return the thread's result, waiting up to the group's time limit."""
        if self._failure is not None:
            raise self._failure
        try:
            wait_for(self.group, partial(call.wait, _SLICE), name)
            return call.result()
        except CollectiveError as error:
            self._failure = error
            raise
        except (RuntimeError, ValueError) as error:  # XLA's are of both classes
            self._failure = self._explain(name, error)
            raise self._failure from error

    def _compute(self, function: str, array: Array) -> Array:
        given = jax.make_array_from_single_device_arrays(
            (self.group.size, *array.shape), self._sharding, [jax.device_put(array[None], self._device)]
        )
        key = function, array.shape, array.dtype
        run = self._compiled.get(key)
        if run is None:
            run = self._compiled[key] = self._compile(self._find_function(function), given)
        return np.asarray(run(given).addressable_data(0))

    def _find_function(self, name: str) -> Callable[[Any], Any]:
        if self.group.size == 2 and name in _OF_TWO:
            return lambda x: _OF_TWO[name](x, lax.ppermute(x, _AXIS, [(0, 1), (1, 0)]))
        return _FUNCTIONS[name]

    def _compile(self, function: Callable[[Any], Any], given: Any) -> Any:
        spec = self._sharding.spec
        mapped = jax.shard_map(
            lambda x: function(x[0])[None], mesh=self._sharding.mesh, in_specs=spec, out_specs=spec, check_vma=False
        )
        return jax.jit(mapped).lower(given).compile()

    def _explain(self, name: str, error: Exception) -> CollectiveError:
        what = f"{name} of group {self.group.name!r} has failed: {error}"
        lost = self.group.find_lost(_PATIENCE)
        if lost:
            return RankLostError(lost, what)
        return CollectiveError(what, hint="all ranks call the same function, with the same shapes and dtypes")


def _open_client(group: ProcessGroup, address: str) -> tuple[Any, Any]:
    """Return the coordinator, which is the first rank's, and a client of it."""
    from jaxlib import _jax  # JAX has one coordinator in a process, and no name for others

    limit, service = max(int(group.timeout), 1), None
    if group.rank == 0:
        service = _jax.get_distributed_runtime_service(address, group.size, shutdown_timeout=_LEAVING)
    client = _jax.get_distributed_runtime_client(
        address, group.rank, init_timeout=limit, shutdown_timeout=_LEAVING, shutdown_on_destruction=False
    )
    client.connect()
    return service, client


def _open_devices(group: ProcessGroup, client: Any, here: str) -> tuple[Any, Any]:
    """Return this process's device, and the mesh of all."""
    from jaxlib import _jax, xla_client

    collectives = _jax.make_gloo_tcp_collectives(distributed_client=client, hostname=here)
    made = xla_client.make_cpu_client(
        asynchronous=False,
        distributed_client=client,
        node_id=group.rank,
        num_nodes=group.size,
        collectives=collectives,
        num_devices=1,
    )
    devices = sorted(made.devices(), key=lambda each: each.process_index)
    return made.local_devices()[0], jax.sharding.Mesh(np.array(devices), (_AXIS,))
