# A worker: a slim Python, what requirements/base.txt pins, and keptstep. No root, no build tools.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
WORKDIR /src
COPY requirements/build.txt requirements/build.txt
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY keptstep keptstep
RUN /opt/build/bin/python -m hatchling build --target wheel --directory /dist

FROM python:${PYTHON}-slim
RUN useradd --system --uid 10001 --create-home keptstep \
    && install --directory --owner keptstep --mode 0700 /var/lib/keptstep
COPY requirements/base.txt /tmp/base.txt
COPY --from=build /dist /tmp/dist
RUN pip install --no-cache-dir --require-hashes -r /tmp/base.txt \
    && pip install --no-cache-dir --no-deps /tmp/dist/keptstep-*.whl \
    && rm -r /tmp/base.txt /tmp/dist
USER keptstep
ENV KEPTSTEP_HOME=/var/lib/keptstep PYTHONUNBUFFERED=1
WORKDIR /var/lib/keptstep
VOLUME /var/lib/keptstep
ENTRYPOINT ["keptstep"]
CMD ["worker"]
