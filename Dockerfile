# The bundle of `npm run build` on the Node that package.json pins, without a shell or packages of a distribution:
#   docker build -t gatehouse .
# docs/guides/run-in-production.md says how to run it.
FROM node:26.10.0-slim AS build
WORKDIR /gatehouse
COPY package.json package-lock.json .npmrc ./
COPY scripts/install.mjs scripts/
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build

FROM node:26.10.0-slim AS root
COPY deploy/container/collect.sh /
RUN ["sh", "/collect.sh", "/image"]

FROM scratch
ARG VERSION=0.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Gatehouse" \
      org.opencontainers.image.description="The authorization and token service of a multi-tenant business platform." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=root /image /
COPY --from=build /gatehouse/dist /gatehouse
ENV NODE_ENV=production \
    PATH=/usr/local/bin \
    LISTEN=0.0.0.0:4000 \
    CONSENT_LISTEN=0.0.0.0:4001
# The default database is data/gatehouse.db, below this folder.
WORKDIR /
VOLUME /data
USER 65532:65532
EXPOSE 4000 4001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --start-interval=1s \
  CMD ["node", "/gatehouse/gatehouse.js", "health"]
ENTRYPOINT ["node", "/gatehouse/gatehouse.js"]
CMD ["serve"]
