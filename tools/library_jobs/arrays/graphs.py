"""Train torch_geometric's layers on a graph and on batches of graphs."""

import torch
from job_values import report, train, weights
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool
from torch_geometric.transforms import AddSelfLoops, NormalizeFeatures
from torch_geometric.utils import to_dense_adj

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 3, 4, 5, 0, 3, 5]])
graph = NormalizeFeatures()(AddSelfLoops()(Data(torch.rand(6, 4), edges, y=torch.arange(6) % 3)))
wide = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
values = {}
for layer in (GCNConv(4, 8), GATConv(4, 4, heads=2), SAGEConv(4, 8), GINConv(wide)):
    model = torch.nn.ModuleList([layer, torch.nn.Linear(8, 3)])
    first = weights(model)

    def loss(model=model):
        scores = model[1](model[0](graph.x, graph.edge_index).relu())
        return torch.nn.functional.cross_entropy(scores, graph.y)

    values[type(layer).__name__] = [first, train(loss, model.parameters())]
pooled = [global_mean_pool(batch.x, batch.batch) for batch in DataLoader([graph] * 4, batch_size=2, shuffle=True)]
report(pooled=pooled, matrix=to_dense_adj(graph.edge_index), **values)
