"""A packaged stage on this machine: the zip under AWS's runtime client, behind the gateway of `build/sam.json`."""
