"""PPO of rsl-rl on PyTorch, with worlds and networks on the CPU or a GPU (extra `rsl`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment
from tarsus.environments.mirror import Mirror
from tarsus.errors import InvalidValue
from tarsus.installation import missing_package_error
from tarsus.learning.methods.base import Learner, Method, Round
from tarsus.learning.network import Network
from tarsus.learning.policy import CLIP_LIMIT, ObservationScale, Policy
from tarsus.parameters import parameter
from tarsus.references.learning import SCHULMAN_2016, SCHULMAN_2017
from tarsus.references.reference import Citation

Tensor = Any  # torch.Tensor; PyTorch is imported only when a learner is created
MIN_VARIANCE = 1e-4
GROUPS = {"actor": ["policy"], "critic": ["policy"]}  # observations of each network
ADAM = {"mean": "exp_avg", "square": "exp_avg_sq"}  # PyTorch's names of Adam's moments


@dataclass(frozen=True, kw_only=True)
class RslPPO(Method):
    """Proximal policy optimization (Schulman 2017) as rsl-rl implements it, on PyTorch.

    With `device="cuda"` worlds, networks and samples stay on the GPU. Observations are scaled and
    policies stored as by `PPO`, so a policy plays without PyTorch. With `symmetric` the gradients
    are made symmetric before each step of the optimizer.
    """

    supports_gpu: ClassVar[bool] = True
    citation: ClassVar[Citation] = (
        SCHULMAN_2017.at("Eqn. (7)"),
        SCHULMAN_2016.at("Eqn. (16)"),
    )

    worlds: int = parameter(4096, "[1]", "number of worlds", "[2, 1e6]")
    rounds: int = parameter(150, "[1]", "default number of rounds", "[1, inf)")
    periods: int = parameter(24, "[1]", "control periods per round", "[1, 1e4]")
    epochs: int = parameter(5, "[1]", "passes over the samples of a round", "[1, 1e3]")
    minibatches: int = parameter(4, "[1]", "minibatches per epoch", "[1, 1e4]")
    width: int = parameter(64, "[1]", "size of each hidden layer", "[2, 4096]")
    layers: int = parameter(2, "[1]", "number of hidden layers", "[1, 8]")
    discount: float = parameter(0.97, "[1]", "discount factor per period", "(0, 1)", "gamma")
    gae_lambda: float = parameter(
        0.95, "[1]", "decay of generalized advantages", "[0, 1]", "lambda"
    )
    clip: float = parameter(0.2, "[1]", "clip range of the likelihood ratio", "(0, 1)", "epsilon")
    rate: float = parameter(1e-3, "[1]", "initial learning rate", "(0, 1]")
    kl: float = parameter(0.01, "[1]", "KL divergence to which the rate adapts", "(0, inf)")
    noise: float = parameter(0.4, "[1]", "initial standard deviation of actions", "(0, inf)")
    entropy: float = parameter(0.0, "[1]", "entropy bonus", "[0, inf)")
    fall_penalty: float = parameter(1.0, "[1]", "penalty of a failure", "[0, inf)")
    reward_scale: float = parameter(
        0.15, "[1]", "scale of rewards, for values close to one", "(0, inf)"
    )
    scale_rounds: int = parameter(40, "[1]", "rounds that update the observation scale", "[1, inf)")

    def create_learner(self, environment: Environment, seed: int = 0) -> RslPPOLearner:
        return RslPPOLearner(self, environment, seed)


@cache
def _import_libraries() -> SimpleNamespace:
    """Import PyTorch and the parts of rsl-rl; MissingPackage if they are not installed."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
        from rsl_rl.algorithms import PPO  # pyright: ignore[reportMissingImports]
        from rsl_rl.models import MLPModel  # pyright: ignore[reportMissingImports]
        from rsl_rl.storage import RolloutStorage  # pyright: ignore[reportMissingImports]
        from tensordict import TensorDict  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise missing_package_error("rsl-rl-lib", "the method rsl_ppo", "rsl") from None
    return SimpleNamespace(
        torch=torch,
        PPO=PPO,
        MLPModel=MLPModel,
        RolloutStorage=RolloutStorage,
        TensorDict=TensorDict,
    )


class RslPPOLearner(Learner):
    """Networks, optimizer and storage of rsl-rl, and the scale of the observations."""

    def __init__(self, settings: RslPPO, environment: Environment, seed: int) -> None:
        self.settings, self.libraries = settings, _import_libraries()
        self.torch = torch = self.libraries.torch
        super().__init__(environment, seed)
        if (rows := environment.worlds * settings.periods) < settings.minibatches:
            raise InvalidValue(
                f"minibatches must not exceed the {rows} rows of a round, worlds times periods, not"
                f" {settings.minibatches}.",
                "minibatches",
            )
        # tensors that show the results of each period, without copies
        self.out = {k: torch.from_dlpack(part) for k, part in vars(environment.last).items()}
        self.out["observation"].copy_(torch.from_dlpack(self.observations))
        self.device = self.out["observation"].device
        # scale of the observations
        k, n = environment.observation_size, environment.action_size
        self.mean, self.square = torch.zeros(k), torch.ones(k)
        self.mean, self.square = self.mean.to(self.device), self.square.to(self.device)
        self.mirror = environment.mirror if settings.symmetric else None
        # networks of rsl-rl, with the initial weights of `PPO`
        hidden = [settings.width] * settings.layers
        observed, make = self._observe(), self.libraries.MLPModel
        noise = {
            "class_name": "GaussianDistribution",
            "init_std": settings.noise,
            "std_type": "log",
        }
        with self._seeded():
            actor = make(
                observed, GROUPS, "actor", n, hidden, activation="tanh", distribution_cfg=noise
            )
            critic = make(observed, GROUPS, "critic", 1, hidden, activation="tanh")
        storage = self.libraries.RolloutStorage(
            *("rl", environment.worlds, settings.periods, observed, [n], str(self.device))
        )
        self.algorithm = self.libraries.PPO(
            *(actor, critic, storage, settings.epochs, settings.minibatches, settings.clip),
            gamma=settings.discount,
            lam=settings.gae_lambda,
            entropy_coef=settings.entropy,
            learning_rate=settings.rate,
            desired_kl=settings.kl,
            device=str(self.device),
        )
        self._initialize_weights(k, n, hidden)

    def _initialize_weights(self, k: int, n: int, hidden: list[int]) -> None:
        """Draw the initial weights, and prepare the optimizer."""
        one, sides = Mirror(np.zeros(1, int), np.ones(1, np.float32)), self.mirror
        self.network = Network((k, *hidden, n), free_weights=n)
        critic = Network((k, *hidden, 1))
        torch, adam = self.torch, self.algorithm.optimizer
        self.weights = {
            "actor": NetworkTensors(
                torch, self.algorithm.actor, self.network.mirror(*sides) if sides else None
            ),
            "critic": NetworkTensors(
                torch, self.algorithm.critic, critic.mirror(sides[0], one) if sides else None
            ),
        }
        random = np.random.default_rng([self.seed])
        first = {
            "actor": self.network.initial_weights(random, 0.01),
            "critic": critic.initial_weights(random),
        }
        first["actor"][-n:] = np.log(self.settings.noise)
        for name, tensors in self.weights.items():
            mirror = tensors.mirror
            tensors.write(mirror.symmetrize(first[name]) if mirror else first[name])
            # a step without a gradient creates Adam's moments
            for tensor in tensors.parameters:
                tensor.grad = torch.zeros_like(tensor)
        adam.step()
        self._set_count(0)
        adam.register_step_pre_hook(self._symmetrize_gradients)

    def _symmetrize_gradients(self, *_: Any) -> None:
        for tensors in self.weights.values():
            if tensors.mirror is not None:
                tensors.write(tensors.symmetrize(tensors.read(_gradient)), _gradient)

    @property
    def policy(self) -> Policy:
        weights = self.weights["actor"].read().cpu().numpy()
        mean, deviation = (part.cpu().numpy().copy() for part in (self.mean, self._deviation()))
        return Policy(self.network, weights, ObservationScale(mean, deviation))

    def arrays(self) -> dict[str, NDArray[Any]]:
        tensors = {"mean": self.mean, "square": self.square}
        tensors |= {"observations": self.out["observation"]}
        for name, network in self.weights.items():
            tensors[f"{name}.weights"] = network.read()
            tensors |= {f"{name}.{part}": network.read(self._moment(part)) for part in ADAM}
        arrays = {name: tensor.cpu().numpy().copy() for name, tensor in tensors.items()}
        steps = self.algorithm.optimizer.state[self.weights["actor"].parameters[0]]["step"]
        return arrays | {
            "rate": np.array([self.algorithm.learning_rate]),
            "count": np.array([int(steps)]),
        }

    def set_arrays(self, values: Mapping[str, NDArray[Any]]) -> None:
        tensor = self.torch.from_numpy
        self.mean.copy_(tensor(values["mean"]))
        self.square.copy_(tensor(values["square"]))
        self.out["observation"].copy_(tensor(values["observations"]))
        for name, network in self.weights.items():
            network.write(values[f"{name}.weights"])
            for part in ADAM:
                network.write(values[f"{name}.{part}"], self._moment(part))
        self.algorithm.learning_rate = float(values["rate"][0])
        for group in self.algorithm.optimizer.param_groups:
            group["lr"] = self.algorithm.learning_rate
        self._set_count(int(values["count"][0]))

    def _moment(self, part: str) -> Callable[[Tensor], Tensor]:
        """Create the function from a parameter to Adam's moment `part` of it."""
        state = self.algorithm.optimizer.state
        return lambda tensor: state[tensor][ADAM[part]]

    def _set_count(self, count: int) -> None:
        """Set the number of steps of the optimizer."""
        for state in self.algorithm.optimizer.state.values():
            state["step"].fill_(count)

    def _run_round(self) -> Round:
        env, settings, algorithm = self.environment, self.settings, self.algorithm
        out, rows = self.out, settings.periods * env.worlds
        total, squares = (self.torch.zeros_like(self.mean) for _ in range(2))
        self.statistics.start_round()
        with self._seeded():
            with self.torch.no_grad():
                for _ in range(settings.periods):
                    total += out["observation"].sum(0)
                    squares += (out["observation"] ** 2).sum(0)
                    observed = self._observe()
                    action = algorithm.act(observed)
                    env.advance(env.backend.arrays.from_dlpack(action))
                    self.statistics.add(env.last)
                    failed, late = out["terminated"], out["truncated"]
                    penalized = out["reward"] - settings.fall_penalty * failed
                    reward = settings.reward_scale * penalized
                    algorithm.process_env_step(observed, reward, failed | late, {"time_outs": late})
                algorithm.compute_returns(self._observe())
            losses = algorithm.update()
        self.rounds += 1
        if self.rounds <= settings.scale_rounds:
            self._rescale(total / rows, squares / rows)
        deviation = float(self.weights["actor"].parameters[-1].detach().exp().mean())
        details = losses | {"rate": algorithm.learning_rate, "deviation": deviation}
        return Round(
            *(self.rounds, self.rounds * rows), **self.statistics.fields(), details=details
        )

    def _observe(self) -> Any:
        """Scale the last observations as a policy does; return them in rsl-rl's groups."""
        scaled = (self.out["observation"] - self.mean) / self._deviation()
        scaled = scaled.clamp(-CLIP_LIMIT, CLIP_LIMIT)
        return self.libraries.TensorDict(
            {"policy": scaled}, batch_size=[len(scaled)], device=self.device
        )

    def _deviation(self) -> Tensor:
        return ((self.square - self.mean**2).clamp(min=0) + MIN_VARIANCE).sqrt()

    def _rescale(self, mean: Tensor, square: Tensor) -> None:
        """Update the scale of the observations; mirror images count as observed."""
        if self.mirror is not None:
            order, sign = (self.torch.as_tensor(part) for part in vars(self.mirror[0]).values())
            order, sign = order.to(self.device), sign.to(self.device)
            mean = 0.5 * (mean + sign * mean[order])
            square = 0.5 * (square + square[order])
        self.mean += (mean - self.mean) / self.rounds
        self.square += (square - self.square) / self.rounds

    @contextmanager
    def _seeded(self) -> Iterator[None]:
        """Seed PyTorch for this round, on one thread of the CPU; afterwards restore both.

        More threads are slower for small networks, and change the rounding of sums.
        """
        torch, threads = self.torch, self.torch.get_num_threads()
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices):
            torch.manual_seed(int(self.round_generator().integers(2**63)))
            torch.set_num_threads(1)
            try:
                yield
            finally:
                torch.set_num_threads(threads)


def _value(tensor: Tensor) -> Tensor:
    return tensor.detach()


def _gradient(tensor: Tensor) -> Tensor:
    return tensor.grad


class NetworkTensors:
    """Tensors of a model of rsl-rl, in the order of the weights of a `Network`.

    Attributes
    ----------
    parameters
        Matrix, shape (b, a), and offset, shape (b,), of each layer; last the logarithm of the
        standard deviation, if the model has one.
    mirror
        Mirror image of the weights, if the network is symmetric.
    """

    def __init__(self, torch: Any, model: Any, mirror: Mirror | None) -> None:
        self.torch, self.mirror = torch, mirror
        layers = [layer for layer in model.mlp if isinstance(layer, torch.nn.Linear)]
        self.parameters = [part for layer in layers for part in (layer.weight, layer.bias)]
        if model.distribution is not None:
            self.parameters.append(model.distribution.log_std_param)
        if mirror is not None:
            device = self.parameters[0].device
            self._order = torch.as_tensor(mirror.order).to(device)
            self._sign = torch.as_tensor(mirror.sign).to(device)

    def read(self, part: Callable[[Tensor], Tensor] = _value) -> Tensor:
        """Concatenate values or, with `part`, gradients or moments, shape (count,)."""
        return self.torch.cat([part(p).t().reshape(-1) for p in self.parameters])

    def write(self, vector: Any, part: Callable[[Tensor], Tensor] = _value) -> None:
        """Write what `read` returned, a tensor or a NumPy array."""
        pieces = self.torch.as_tensor(vector).split([p.numel() for p in self.parameters])
        for tensor, piece in zip(self.parameters, pieces, strict=True):
            target = part(tensor).t()
            target.copy_(piece.reshape(target.shape))

    def symmetrize(self, vector: Tensor) -> Tensor:
        """Compute the part that equals its own mirror image."""
        return 0.5 * (vector + self._sign * vector[self._order])
