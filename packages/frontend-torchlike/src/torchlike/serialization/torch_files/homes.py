"""Where torch has the classes and functions that it shares with us under another module: facts of torch 2.13."""

from __future__ import annotations

from typing import Final

#: torch's module → our modules, with torch in place of torchlike, all of whose public names it has.
_MODULES: Final = {
    "torch": "torch.amp.older_settings torch.amp.settings torch.compiler torch.sparse.construction",
    "torch.amp.autocast_mode": "torch.amp.autocasting",
    "torch.amp.grad_scaler": "torch.amp.scaler",
    "torch.autograd": "torch.autograd.gradients",
    "torch.autograd.grad_mode": "torch.history.grad_mode",
    "torch.autograd.gradcheck": "torch.autograd.numerical_check",
    "torch.distributions.transforms": (
        "torch.distributions.transforms.composition torch.distributions.transforms.elementwise"
        " torch.distributions.transforms.joining torch.distributions.transforms.vectors"
    ),
    "torch.func": (
        "torch.levels.functionalization.functionalizing torch.levels.gradients torch.levels.jacobians torch.levels.mapping"
    ),
    "torch.nn.functional": (
        "torch.nn.functional.activations torch.nn.functional.attentions torch.nn.functional.convolutions"
        " torch.nn.functional.distances torch.nn.functional.dropouts torch.nn.functional.embeddings"
        " torch.nn.functional.losses torch.nn.functional.margin_losses torch.nn.functional.normalizations"
        " torch.nn.functional.paddings torch.nn.functional.poolings torch.nn.functional.regression_losses"
        " torch.nn.functional.resamplings torch.nn.functional.sequence_losses"
    ),
    "torch.nn.modules.container": "torch.nn.modules.parameter_container",
    "torch.nn.modules.activation": "torch.nn.modules.multihead",
    "torch.nn.modules.rnn": "torch.nn.modules.rnn_cells",
    "torch.nn.parallel.data_parallel": "torch.nn.parallel",
    "torch.nn.parameter": "torch.nn.uninitialized",
    "torch.nn.utils.spectral_norm": "torch.nn.utils.spectral_normalization",
    "torch.nn.utils.weight_norm": "torch.nn.utils.weight_normalization",
    "torch.optim.lr_scheduler": (
        "torch.optim.lr_scheduler.annealing torch.optim.lr_scheduler.cycles torch.optim.lr_scheduler.factors"
        " torch.optim.lr_scheduler.joined torch.optim.lr_scheduler.plateau torch.optim.lr_scheduler.scheduler"
    ),
    "torch.serialization": "torch.serialization.entry",
    "torch.sparse": "torch.sparse.functions",
    "torch.utils.data._utils.collate": "torch.utils.data.collation",
    "torch.utils.data._utils.worker": "torch.utils.data.worker",
    "torch.utils.hooks": "torch.history.hooks",
}
#: torch's module → our modules, each with the names of it that are there.
_NAMES: Final = {
    "torch.distributions.exp_family": "torch.distributions.distribution ExponentialFamily",
    "torch.nn.modules.linear": "torch.nn.modules.multihead NonDynamicallyQuantizableLinear",
    "torch.nn.modules.loss": "torch.nn.modules.linear_cross_entropy LinearCrossEntropyLoss",
    "torch.nn.modules.linear_cross_entropy_options": "torch.nn.modules.linear_cross_entropy LinearCrossEntropyOptions",
    "torch.optim.adadelta": "torch.optim.adagrad Adadelta",
    "torch.optim.rmsprop": "torch.optim.adagrad RMSprop",
    "torch.optim.adamax": "torch.optim.adam Adamax",
    "torch.optim.adamw": "torch.optim.adam AdamW",
    "torch.optim.nadam": "torch.optim.adam NAdam",
    "torch.optim.radam": "torch.optim.adam RAdam",
    "torch.optim.asgd": "torch.optim.averages ASGD",
    "torch.optim._adafactor": "torch.optim.factored Adafactor",
    "torch.optim._muon": "torch.optim.factored Muon",
    "torch.optim.rprop": "torch.optim.sgd Rprop",
    "torch.storage": "torch TypedStorage UntypedStorage",
}
#: Our module → torch's.
MODULES: Final = {own: torchs for torchs, owns in _MODULES.items() for own in owns.split()}
#: Our module and a name in it, with a dot between → torch's module.
NAMES: Final = {f"{text.split()[0]}.{name}": torchs for torchs, text in _NAMES.items() for name in text.split()[1:]}
#: torch's module → ours that have names of it.
OWN_MODULES: Final = {
    torchs: [*_MODULES.get(torchs, "").split(), *_NAMES.get(torchs, "").split()[:1]] for torchs in [*_MODULES, *_NAMES]
}
#: A name of torch's own parts that pickles have → the object of ours that is asked for in its place.
STAND_INS: Final = {
    "torch._C._VariableFunctionsClass": "torch",
    "torch._C._VariableFunctions": "torch",
    "torch._C.TensorBase": "torch.Tensor",
    "torch._C._TensorBase": "torch.Tensor",
}
