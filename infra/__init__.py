"""Everything around the service: the stage in the cloud, the local stage, operators' commands, the reference."""
