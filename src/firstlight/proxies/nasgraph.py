"""NASGraph: the average degree of the graph of channels (Huang et al., 2024)."""

from __future__ import annotations

from firstlight.probe import Probe
from firstlight.proxies.base import Parts, proxy


@proxy(reference="Huang2024nasgraph", needs="nothing")
def nasgraph_degree(probe: Probe) -> Parts:
    """How many channels each channel is joined to.

        M = 2 E / V

    V is the number of vertices: the channels of all tensors that layers read, and the outputs of the network. E is the
    number of edges: a layer joins channel i of its input to channel j of its output if the sum over positions of
    ReLU(output j) is not 0 when channel i is all ones and the others are zeros. Weights are drawn from N(0, 1), and
    biases are 0.

    Layers are convolutions, linear layers, and modules for pooling and for shortcuts (`nn.Identity`), which join each
    channel to itself. Shortcuts and pooling that are not modules have no edges. ReLUs, GELUs, dropout and normalization
    add no vertices. The published graph is that of a small network: 16 channels, one cell in each stage, and no
    BatchNorm. On NAS-Bench-201, `--skeleton cells=1` gives it; BatchNorm makes no difference here.

    Scale: grows with the number of channels. Higher is better. Cost: for each layer, a
    forward pass of as many samples as it has input channels.
    """
    graph = probe.channel_graph()
    return Parts(2 * graph.edges / graph.vertices, vertices=graph.vertices, edges=graph.edges)
