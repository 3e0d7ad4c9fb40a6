"""Train a network as an estimator of scikit-learn by skorch."""

import numpy as np
import torch
from job_values import report, weights
from sklearn.model_selection import cross_val_score
from skorch import NeuralNetClassifier


class Net(torch.nn.Module):
    """Two layers that give probabilities."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))

    def forward(self, inputs):
        return self.layers(inputs).softmax(-1)


torch.manual_seed(0)
draws = np.random.RandomState(0)  # its draws never change
inputs = draws.randn(40, 4).astype("float32")
labels = (inputs.sum(1) > 0).astype("int64")
net = NeuralNetClassifier(
    Net, max_epochs=3, lr=0.1, batch_size=8, verbose=0, module__width=6, iterator_train__shuffle=True
)
net.initialize()
first = weights(net.module_)
net.partial_fit(inputs, labels)
losses = net.history[:, ("train_loss", "valid_loss", "valid_acc")]
scores = cross_val_score(net, inputs, labels, cv=2, scoring="accuracy")
report(first=first, losses=losses, chances=net.predict_proba(inputs[:4]), scores=scores)
