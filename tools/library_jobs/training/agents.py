"""Train agents of stable-baselines3 by PPO and by DQN."""

import gymnasium as gym
import numpy as np
import torch
from job_values import report
from stable_baselines3 import DQN, PPO

values = {}
torch.set_num_threads(1)
for make, options in (
    (PPO, {"n_steps": 32, "batch_size": 16, "n_epochs": 2}),
    (DQN, {"learning_starts": 20, "batch_size": 16, "train_freq": 4, "buffer_size": 200}),
):
    world = gym.make("CartPole-v1")
    agent = make("MlpPolicy", world, seed=0, device="cpu", policy_kwargs={"net_arch": [8]}, **options)
    first = {name: each.detach().double().sum() for name, each in agent.policy.named_parameters()}
    agent.learn(64)
    last = {name: each.detach().double().sum() for name, each in agent.policy.named_parameters()}
    seen = np.linspace(-0.1, 0.1, 12, dtype="float32").reshape(3, 4)
    values[make.__name__] = [first, last, agent.predict(seen, deterministic=True)[0]]
report(**values)
