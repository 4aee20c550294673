"""One rank at work: it goes through its actions in order, the same code on virtual and on real ranks."""

from __future__ import annotations

from time import perf_counter

from labs.kit.virtual import work
from labs.pipeline_parallel import halves
from labs.pipeline_parallel.batches import weights_of
from labs.pipeline_parallel.post import Post, directions

HOLDS_ANSWERS = True  # the learner writes an executor in an extension: the grader's sandbox gets a stub


class Worker:
    """A rank's stages with what a step leaves in them until it is needed.

    Parameters
    ----------
    plan : plan.RankPlan
    stages : dict of int to torch.nn.Module
        This rank's stages.
    dist : torch.distributed or its virtual twin
    durations : durations.Durations or None
        Declared for each action on virtual ranks, in s.
    """

    def __init__(self, plan, stages, dist, durations=None):
        self.plan, self.stages, self.dist, self.durations = plan, stages, dist, durations
        self.groups = directions(dist)
        self.do = {"F": self.forward, "B": self.backward, "I": self.backward_input, "W": self.backward_weight}

    def step(self, inputs, targets, loss, reduction="mean"):
        """Run the schedule once; gradients are left in the parameters.

        Parameters
        ----------
        inputs, targets : torch.Tensor or None
            The whole batch; needed where the first and the last stage live.
        loss : callable
            ``loss(output, target)`` gives a scalar tensor.
        reduction : {"mean", "sum"}
            What `loss` does within a micro-batch.

        Returns
        -------
        dict
            ``loss`` (float; None where the last stage is elsewhere), ``peak`` (most micro-batches held), and ``spans``
            (begin and end of each action by this process's clock, in s).
        """
        sizes = self.plan.sizes
        self.inputs = None if inputs is None else inputs.split(sizes[0])
        self.targets = None if targets is None else targets.split(sizes[0])
        self.loss, self.weights = loss, weights_of(sizes, reduction)
        for stage in self.stages.values():
            stage.zero_grad(set_to_none=True)
        self.held, self.waiting, self.local, self.losses = {}, {}, {}, []
        self.post = Post(self.plan, self.dist, self.groups)
        peak, spans = 0, []
        for step in self.plan.steps:
            taken = self.take(step)
            begin = perf_counter()
            result = self.do[step.action.kind](step.action, taken)
            if self.durations is not None:
                seconds = self.durations.seconds(step.action.kind, step.action.stage)
                work(seconds=seconds, label=str(step.action))
            spans.append((begin, perf_counter()))
            self.hand_on(step, result)
            peak = max(peak, len(self.held) + len(self.waiting))
        self.post.finish()
        return {"loss": sum(self.losses).item() if self.losses else None, "peak": peak, "spans": spans}

    def take(self, step):
        """What the action needs from the neighbouring stage; None where there is none."""
        if step.source is None:
            return None
        if step.source in self.local:
            return self.local.pop(step.source)
        return self.post.receive(step.source, step.source_place.rank)

    def hand_on(self, step, result):
        """Give the result to whoever needs it: over the network, or to a stage on the same rank."""
        if step.target_place is None:
            return
        if step.target_place.rank == self.dist.get_rank():
            self.local[step.action] = result
        else:
            self.post.send(result.contiguous(), step.target_place.rank, step.target_place.position)

    def forward(self, action, x):
        """F: returns the output, cut off from the graph, which stays until backward."""
        _, number, micro_batch = action
        if number == 0:
            x = self.inputs[micro_batch].detach()
        elif x.is_floating_point():
            x.requires_grad_()
        root = self.stages[number](x)
        if number == self.plan.last_stage:  # scaled here, once; every gradient follows from it
            root = self.loss(root, self.targets[micro_batch]) * self.weights[micro_batch]
            self.losses.append(root.detach())
        self.held[number, micro_batch] = root, x
        return root.detach()

    def backward(self, action, gradient):
        """B: accumulates the weights' gradients and returns the input's."""
        root, x = self.held.pop(action[1:])
        return self.for_sending(halves.whole(root, x, gradient), x, action)

    def backward_input(self, action, gradient):
        """I: returns the input's gradient; the graph stays until W."""
        root, x = self.held.pop(action[1:])
        self.waiting[action[1:]] = root, gradient
        return self.for_sending(halves.of_input(root, x, gradient), x, action)

    def backward_weight(self, action, _):
        """W: accumulates the weights' gradients."""
        root, gradient = self.waiting.pop(action[1:])
        halves.of_weights(root, self.stages[action.stage].parameters(), gradient)

    @staticmethod
    def for_sending(gradient, x, action):
        """The stage before waits for a gradient, even where it is zero because nothing depends on the input."""
        return x.new_zeros(x.shape) if gradient is None and action.stage else gradient
