"""The options of DistributedDataParallel, with its meaning and its numbers."""

import sys

from parity import case, check, normed

MLP = {"name": "mlp", "in_features": 20, "hidden": [200, 210, 100], "out_features": 4}
NORMED = normed(20, 16, 4)


def ddp(title, **options):
    return [case(f"{title}, {world} ranks", world=world, model=MLP, distributed=options) for world in (2, 3)]


CASES = [
    *ddp("bucket_cap_mb 0.1", bucket_cap_mb=0.1),
    *ddp("bucket_cap_mb 0.001: a bucket a parameter", bucket_cap_mb=0.001),
    *ddp("bucket_cap_mb 1", bucket_cap_mb=1),
    *ddp("find_unused_parameters", find_unused_parameters=True),
    *ddp("find_unused_parameters, small buckets", find_unused_parameters=True, bucket_cap_mb=0.1),
    *ddp("static_graph", static_graph=True),
    *ddp("static_graph, small buckets", static_graph=True, bucket_cap_mb=0.1),
    *ddp("static_graph and find_unused_parameters", static_graph=True, find_unused_parameters=True),
    *ddp("gradient_as_bucket_view", gradient_as_bucket_view=True),
    *ddp("gradient_as_bucket_view, small buckets", gradient_as_bucket_view=True, bucket_cap_mb=0.1),
    *(case(f"{option}, accumulate", world=3, model=MLP, accumulate=2, epochs=3, distributed={option: True})
      # Without static_graph: PyTorch's Reducer requires its first backward outside no_sync.
      for option in ("find_unused_parameters", "gradient_as_bucket_view")),
    *(case(f"broadcast_buffers {on}, {world} ranks", world=world, model=NORMED, distributed={"broadcast_buffers": on},
           batch_size=6)
      for world in (1, 2, 3) for on in (True, False)),
    *(case(f"broadcast_buffers {on}, accumulate", world=2, model=NORMED, accumulate=3, epochs=3, batch_size=6,
           distributed={"broadcast_buffers": on})
      for on in (True, False)),
]  # fmt: skip

sys.exit(check(CASES))
