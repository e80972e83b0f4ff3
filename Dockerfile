# stablint in a container, for CI that runs images. It reads what is mounted at /work, as a user without rights, and needs no network:
#   docker build -t stablint .
#   docker run --rm --network none -v "$PWD:/work:ro" stablint check . --gpu "A100-80GB x8"
FROM python:3.12-slim AS build
COPY . /source
RUN python -m pip wheel --no-cache-dir --wheel-dir /wheels /source

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir --no-index --find-links /wheels stablint && rm -r /wheels && useradd --no-create-home stablint
USER stablint
WORKDIR /work
ENTRYPOINT ["stablint"]
CMD ["check", "."]
