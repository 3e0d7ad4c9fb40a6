"""Pictures of pipelines: the graph, the places of its nodes, and the text of each format."""
