"""API Gateway, simulated in this process from the template: in front of the local stage and of the deployed package."""
