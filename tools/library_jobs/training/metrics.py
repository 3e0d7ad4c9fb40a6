"""Count torchmetrics of several kinds over batches."""

import torch
from job_values import report
from torchmetrics import MeanMetric, MetricCollection, PearsonCorrCoef
from torchmetrics.classification import BinaryAUROC, MulticlassAccuracy, MulticlassConfusionMatrix, MulticlassF1Score
from torchmetrics.functional import pairwise_cosine_similarity
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure
from torchmetrics.regression import MeanSquaredError, R2Score
from torchmetrics.retrieval import RetrievalMAP
from torchmetrics.text import Perplexity

torch.manual_seed(0)
classes = MetricCollection([MulticlassAccuracy(3), MulticlassF1Score(3), MulticlassConfusionMatrix(3)])
numbers = MetricCollection([MeanSquaredError(), R2Score(), PearsonCorrCoef()])
curve, mean, found = BinaryAUROC(), MeanMetric(), RetrievalMAP()
for _ in range(3):
    scores, labels = torch.randn(8, 3), torch.randint(0, 3, (8,))
    classes.update(scores, labels)
    numbers.update(scores[:, 0], scores[:, 0] + 0.1 * torch.randn(8))
    curve.update(scores[:, 0].sigmoid(), labels > 0)
    found.update(scores[:, 0], labels > 0, indexes=torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]))
    mean.update(torch.nn.functional.cross_entropy(scores, labels))
image = torch.rand(1, 3, 24, 24)
worse = (image + 0.1 * torch.randn_like(image)).clamp(0, 1)
report(
    classes=classes.compute(),
    numbers=numbers.compute(),
    curve=curve.compute(),
    mean=mean.compute(),
    found=found.compute(),
    noise=PeakSignalNoiseRatio(data_range=1.0)(worse, image),
    likeness=StructuralSimilarityIndexMeasure(data_range=1.0)(worse, image),
    surprise=Perplexity()(torch.randn(2, 5, 7), torch.randint(0, 7, (2, 5))),
    pairs=pairwise_cosine_similarity(torch.randn(3, 4)),
)
