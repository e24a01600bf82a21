# The collector: docker build -t discreet-collector . && docker compose up
FROM python:3.12-slim

RUN useradd --create-home --uid 10001 discreet && mkdir /data && chown discreet /data
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir '.[collector]'

USER discreet
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=5)"]
# Plain HTTP: publish the port to a proxy with TLS, not to the internet.
ENTRYPOINT ["discreet", "collect"]
CMD ["serve", "/data", "--host", "0.0.0.0", "--port", "8000"]
