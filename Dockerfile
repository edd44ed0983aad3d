# One image for every program of the service; which one a container runs is its command (docker-compose.yml).
FROM python:3.11-slim

# GCC compiles the kernels that workers time.
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/autosched
COPY . .
RUN pip install --no-cache-dir --constraint requirements.lock .

CMD ["autosched", "--help"]
