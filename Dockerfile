# The local stage in a container, for tests of other programs: `docker compose up`. It is no deployment of the service.
FROM python:3.13-slim
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir .
ENV HOST=0.0.0.0
EXPOSE 8000 8001
CMD ["payments-stage"]
