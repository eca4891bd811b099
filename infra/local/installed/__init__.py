"""What `pip install` of this project brings: the command `payments-stage`, and a plugin of pytest.

The wheel has these files as the package `payments_stage`, and the service in its folder `service`, so that the names
`app`, `chalicelib` and `infra` stay free for other programs.
"""
