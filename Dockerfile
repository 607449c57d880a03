# syntax=docker/dockerfile:1
# One image for every process; the command chooses which. docs/operations.md says how to build and run it.
ARG NODE_VERSION=26.10.0
# The only base. Pin it by digest where builds must be the same (node:...-slim@sha256:...), or name a mirror.
ARG NODE_IMAGE=node:${NODE_VERSION}-slim

# Node for the platform of the image. Nothing of it runs here, so another platform than the builder's needs no emulation.
FROM ${NODE_IMAGE} AS node

FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS assembled
ARG NPM_REGISTRY=https://registry.npmjs.org/
WORKDIR /source
COPY . .
# A certificate authority of your own: --secret id=ca,src=ca.pem.
RUN --mount=type=cache,target=/var/cache/npm,sharing=locked \
    --mount=type=secret,id=ca,target=/run/secrets/ca.pem \
    if [ -f /run/secrets/ca.pem ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca.pem; fi; \
    npm_config_registry=${NPM_REGISTRY} npm_config_cache=/var/cache/npm node deploy/image/assemble.ts /app
# What ships beside it: Node, the libraries it is linked with, and nothing else; no shell, no package manager. OpenShift
# runs it as any user, in the group 0, which may write the data directory.
# Builders that cache this step tell one platform from another by the argument.
ARG TARGETARCH
RUN --mount=type=bind,from=node,target=/node \
    mkdir -p /ships/usr/local/bin /ships/lib /ships/etc /ships/tmp && chmod 1777 /ships/tmp && ln -s lib /ships/lib64 \
    && cp /node/usr/local/bin/node /ships/usr/local/bin/ && cd /node/usr/lib/*-linux-gnu/ \
    && cp --dereference ld-linux-*.so.* $(ldd /usr/local/bin/node | sed -n 's/^\t\(lib[^ ]*\) => .*/\1/p') /ships/lib/ \
    && echo 'hosts: files dns' > /ships/etc/nsswitch.conf \
    && echo 'tessera:x:1000:1000::/var/lib/tessera:/sbin/nologin' > /ships/etc/passwd \
    && install -d -o 1000 -g 0 -m 0775 /ships/var/lib/tessera

FROM scratch
ARG VERSION=0.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Tessera" \
      org.opencontainers.image.description="Multi-tenant OAuth 2.0 and OpenID Connect authorization server" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=assembled /ships/ /
COPY --from=assembled /app /app
WORKDIR /app
ENV PATH=/usr/local/bin \
    NODE_ENV=production \
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
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=4", "/app/deploy/image/start.ts"]
CMD ["standalone"]
