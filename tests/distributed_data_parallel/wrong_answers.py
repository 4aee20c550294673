"""Wrong answers to the exercises of lesson 10: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
BUCKETS, DDP, PIECES = _right["BUCKETS"], _right["DDP"], _right["PIECES"]
COMPRESS, SERVE = _right["COMPRESS"], _right["SERVE"]


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


LEFT_OVER = """    if open_bucket:
        buckets.append(open_bucket)
"""
ZEROS = """            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
"""
REST = """        for bucket in self.buckets[len(self.started):]:
            self.start(bucket)
"""
READY = """        while len(self.started) < len(self.buckets) and self.arrived.issuperset(self.buckets[len(self.started)]):
            self.start(self.buckets[len(self.started)])
"""
COPY = """                gradient.copy_(flat[place:place + gradient.numel()].view_as(gradient))
"""
BY_PARAMETER = """
    def ready(self, index):
        self.arrived.add(index)
        while len(self.trained) - 1 - len(self.started) in self.arrived:
            parameter = self.trained[len(self.trained) - 1 - len(self.started)]
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            self.started.append((parameter.grad, self.dist.all_reduce(parameter.grad, async_op=True)))

    def finish(self):
        for index in range(len(self.trained)):
            self.ready(index)
        for gradient, handle in self.started:
            handle.wait()
            gradient /= self.dist.get_world_size()
"""

WRONG = {
    "assign_buckets": {
        "forward_order": changed(BUCKETS, ("reversed(range(len(nbytes)))", "range(len(nbytes))")),
        "lost": changed(BUCKETS, (LEFT_OVER, "")),
        "empty_bucket": changed(BUCKETS, ("    if open_bucket:\n        buckets", "    buckets")),
        "one_bucket": """
def assign_buckets(nbytes, bucket_bytes):
    return [list(reversed(range(len(nbytes))))] if nbytes else []
""",
        "one_each": """
def assign_buckets(nbytes, bucket_bytes):
    return [[index] for index in reversed(range(len(nbytes)))]
""",
        "closed_too_early": """
def assign_buckets(nbytes, bucket_bytes):
    buckets, filled = [], 0
    for index in reversed(range(len(nbytes))):
        if not buckets or filled + nbytes[index] > bucket_bytes:
            buckets.append([])
            filled = 0
        buckets[-1].append(index)
        filled += nbytes[index]
    return buckets
""",
        "closed_too_late": changed(BUCKETS, ("filled >= bucket_bytes", "filled > bucket_bytes")),
        "count_kept": changed(BUCKETS, ("open_bucket, filled = [], 0\n    if", "open_bucket = []\n    if")),
        "order_inside": changed(BUCKETS, ("return buckets", "return [sorted(bucket) for bucket in buckets]")),
        "twice": changed(
            BUCKETS, ("open_bucket, filled = [], 0\n    if", "open_bucket, filled = open_bucket[-1:], 0\n    if")
        ),
        "nothing_returned": changed(BUCKETS, ("    return buckets\n", "")),
        "no_index": changed(BUCKETS, ("open_bucket.append(index)", "open_bucket.append(nbytes[index] + 1000 * index)")),
    },
    "ddp": {
        "sum_not_mean": changed(DDP, ("            flat /= self.dist.get_world_size()\n", "")),
        "divided_twice": changed(
            DDP, ("flat = torch.cat(gradients)", "flat = torch.cat(gradients) / self.dist.get_world_size()")
        ),
        "waits_in_hook": changed(
            DDP,
            ("self.dist.all_reduce(flat, async_op=True)))", "self.dist.all_reduce(flat)))"),
            ("            handle.wait()\n", ""),
        ),
        "never_waited": changed(DDP, ("            handle.wait()\n", "")),
        "not_copied_back": changed(
            DDP, (COPY, "                flat[place:place + gradient.numel()].view_as(gradient)\n")
        ),
        "one_each": changed(DDP, (DDP[DDP.index("    def start(self") :], BY_PARAMETER.lstrip("\n"))),
        "no_overlap": changed(DDP, (READY, "")),
        "never_started": changed(DDP, (REST, "")),
        "unused_left_out": changed(
            DDP,
            (ZEROS, "            if parameter.grad is None:\n                continue\n"),
            (
                "            for index in bucket:\n                gradient = self.trained[index].grad\n",
                "            for index in bucket:\n                gradient = self.trained[index].grad\n"
                "                if gradient is None:\n                    continue\n",
            ),
        ),
        "started_as_they_fill": changed(
            DDP,
            (
                READY,
                "        for bucket in self.buckets:\n"
                "            if index in bucket and self.arrived.issuperset(bucket):\n"
                "                self.start(bucket)\n",
            ),
            (
                REST,
                "        done = [bucket for bucket, *_ in self.started]\n"
                "        for bucket in self.buckets:\n"
                "            if bucket not in done:\n                self.start(bucket)\n",
            ),
            ("self.started.append((flat,", "self.started.append((bucket, flat,"),
            (
                "for bucket, (flat, handle) in zip(self.buckets, self.started)",
                "for bucket, flat, handle in self.started",
            ),
        ),
        "none_in_bucket": changed(DDP, (ZEROS, "")),
        "nothing_sent": changed(
            DDP,
            (
                DDP[DDP.index("    def ready(self") :],
                "    def ready(self, index):\n        pass\n\n    def finish(self):\n        pass\n",
            ),
        ),
        "other_values": changed(DDP, ("                place += gradient.numel()\n", "")),
        "shape_lost": changed(
            DDP, (COPY, "                self.trained[index].grad.data = flat[place:place + gradient.numel()]\n")
        ),
    },
    "in_pieces": {
        "off_by_one": changed(PIECES, ("last = number == len(pieces) - 1", "last = number == 0")),
        "never_synced": changed(PIECES, ("last = number == len(pieces) - 1", "last = False")),
        "talks_every_time": """
def in_pieces(ddp, pieces, loss):
    for piece in pieces:
        ddp.backward(loss(ddp(piece)))
""",
        "forward_outside": """
from contextlib import nullcontext

def in_pieces(ddp, pieces, loss):
    for number, piece in enumerate(pieces):
        value = loss(ddp(piece))
        with nullcontext() if number == len(pieces) - 1 else ddp.no_sync():
            ddp.backward(value)
""",
        "divided_by_pieces": changed(PIECES, ("loss(ddp(piece))", "loss(ddp(piece)) / len(pieces)")),
        "piece_left_out": """
def in_pieces(ddp, pieces, loss):
    with ddp.no_sync():
        for piece in pieces[:-2]:
            ddp.backward(loss(ddp(piece)))
    if pieces:
        ddp.backward(loss(ddp(pieces[-1])))
""",
    },
    "compress": {
        "cast_first": """
def compress(gradient, dist):
    small = gradient.half() / dist.get_world_size()
    dist.all_reduce(small)
    gradient.copy_(small)
""",
        "divided_after": """
def compress(gradient, dist):
    small = gradient.half()
    dist.all_reduce(small)
    gradient.copy_(small.float() / dist.get_world_size())
""",
        "sum_not_mean": changed(COMPRESS, ("(gradient / dist.get_world_size())", "gradient")),
        "not_compressed": changed(COMPRESS, (".half()", ".half().float()")),
        "not_written_back": changed(COMPRESS, ("    gradient.copy_(small)\n", "")),
        "too_coarse": changed(COMPRESS, (".half()", ".bfloat16()")),
    },
    "serve": {
        "waits_for_a_full_batch": """
def serve(arrivals, replicas, max_batch, seconds):
    free, done = [0.0] * replicas, []
    for first in range(0, len(arrivals), max_batch):
        batch = arrivals[first:first + max_batch]
        replica = free.index(min(free))
        free[replica] = max(free[replica], batch[-1]) + seconds(len(batch))
        done += [free[replica]] * len(batch)
    return done
""",
        "no_batching": changed(SERVE, ("last - first < max_batch", "last - first < 1")),
        "one_replica": changed(SERVE, ("[0.0] * replicas", "[0.0]")),
        "in_turns": changed(
            SERVE,
            ("free, done, first = [0.0] * replicas, [], 0", "free, done, first, turn = [0.0] * replicas, [], 0, -1"),
            ("        replica = free.index(min(free))", "        turn += 1\n        replica = turn % replicas"),
        ),
        "batch_too_large": changed(SERVE, (" and last - first < max_batch", "")),
        "before_it_came": changed(SERVE, (" and arrivals[last] <= start", "")),
        "latency": changed(SERVE, ("    return done", "    return [end - at for end, at in zip(done, arrivals)]")),
        "lost": changed(SERVE, ("done += [free[replica]] * (last - first)", "done += [free[replica]]")),
        "nothing_returned": changed(SERVE, ("    return done\n", "")),
    },
}
