"""The resources of a stage, the local stage made of the same definition, the operator's commands, the reference."""
