# syntax=docker/dockerfile:1
# One image for every process; the command chooses which. docs/operations.md says how to build and run it.
ARG NODE_VERSION=26.10.0

FROM node:${NODE_VERSION}-slim AS assembled
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/var/cache/npm,sharing=locked \
    npm_config_cache=/var/cache/npm node deploy/image/assemble.ts /app

FROM node:${NODE_VERSION}-slim
# What the base image brings for building is not for running.
RUN rm -rf /usr/local/lib/node_modules /usr/local/include /opt/yarn* \
    /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg
COPY --from=assembled /app /app
RUN install -d -o 1000 -g 1000 /var/lib/tessera
WORKDIR /app
ENV NODE_ENV=production \
    TESSERA_DATA_DIR=/var/lib/tessera \
    TESSERA_HTTP_HOST=0.0.0.0 \
    TESSERA_RPC_HOST=0.0.0.0 \
    TESSERA_RPC_PORT=9000 \
    TESSERA_MANAGEMENT_HOST=0.0.0.0 \
    TESSERA_MANAGEMENT_PORT=9090
# HTTP, calls between processes, probes and metrics.
EXPOSE 8080 9000 9090
VOLUME /var/lib/tessera
USER 1000:1000
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/node", "/app/deploy/image/start.ts"]
CMD ["standalone"]
