"""The package of a stage, run here: the zip under AWS's runtime client, behind the gateway of `build/sam.json`."""
