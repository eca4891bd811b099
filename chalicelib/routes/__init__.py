"""The functions of the endpoints, which `chalicelib.endpoints` lists."""
