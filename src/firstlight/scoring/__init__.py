"""From architectures to scores: settings, costs, and the service that answers from the store or the executor."""
