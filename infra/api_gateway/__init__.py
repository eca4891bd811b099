"""API Gateway as the template configures it, in this process: for the local stage and for what is deployed."""
