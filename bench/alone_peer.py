"""The peers of bench/step.py in one process, on one core, with one batch kept in memory and no DDP.

alone_peer.py MODEL eager|compiled|jax STEPS STEADY    MODEL: toy, table

Prints the seconds of all steps after the first STEADY ones. JAX runs 200 steps in one compiled loop; torch.compile
compiles forward and loss, as a user does.
"""

import sys
import time

BATCH = {"toy": 20, "table": 256}
SIZES = {"toy": [10, 10, 5], "table": [30, 64, 64, 64, 1]}
JAX_LOOP = 200


def torch_steps(model_name, how, steps, steady):
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(42)
    sizes = SIZES[model_name]
    layers = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
    model = nn.Sequential(*layers[:-1])
    loss_fn = nn.MSELoss()
    if model_name == "toy":
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    x, y = torch.randn(BATCH[model_name], sizes[0]), torch.randn(BATCH[model_name], sizes[-1])

    def loss_of(x, y):
        return loss_fn(model(x), y)

    if how == "compiled":
        loss_of = torch.compile(loss_of)
    for step in range(steps):
        if step == steady:
            begin = time.perf_counter()
        optimizer.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()
    return time.perf_counter() - begin


def jax_steps(model_name, steps, steady):
    import jax
    import jax.numpy as jnp

    sizes = SIZES[model_name]
    keys = iter(jax.random.split(jax.random.key(42), 2 * len(sizes) + 2))
    weights = [(jax.random.normal(next(keys), (a, b)) / a**0.5, jnp.zeros(b)) for a, b in zip(sizes, sizes[1:])]
    x, y = (jax.random.normal(next(keys), (BATCH[model_name], size)) for size in (sizes[0], sizes[-1]))

    def loss_of(weights, x, y):
        for w, b in weights[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = weights[-1]
        return jnp.mean((x @ w + b - y) ** 2)

    def sgd(weights, state, gradients):
        return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, gradients), state

    def adamw(weights, state, gradients):
        count, first, second = state
        count += 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
        rate, root = 1e-3 / (1 - 0.9**count), (1 - 0.999**count) ** 0.5
        change = lambda w, m, v: w * (1 - 1e-5) - rate * m / (jnp.sqrt(v) / root + 1e-8)  # noqa: E731
        return jax.tree.map(change, weights, first, second), (count, first, second)

    update = sgd if model_name == "toy" else adamw
    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = (jnp.zeros(()), zeros, zeros)

    @jax.jit
    def loop(weights, state, x, y):
        def step(_, carried):
            weights, state, _ = carried
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            return *update(weights, state, gradients), loss

        return jax.lax.fori_loop(0, JAX_LOOP, step, (weights, state, jnp.zeros(())))

    done = 0
    begin = None
    while done < steps:
        if begin is None and done >= steady:
            begin, counted = time.perf_counter(), done
        weights, state, loss = loop(weights, state, x, y)
        loss.block_until_ready()
        done += JAX_LOOP
    return (time.perf_counter() - begin) * (steps - steady) / (done - counted)


def main(model_name, how, steps, steady):
    if how == "jax":
        print(jax_steps(model_name, steps, steady))
    else:
        print(torch_steps(model_name, how, steps, steady))


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
