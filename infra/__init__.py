"""What the service stands on: the resources of a stage, and the local stage made of the same definition."""
