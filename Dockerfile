# The bundle of `npm run build`, on the Node that package.json pins. Runs `serve` as a user without rights:
#   docker build -t gatehouse .
#   docker run -p 4000:4000 -p 4001:4001 -v gatehouse:/data -e BASE_URL=… -e CONSENT_URL=… -e SECRET_KEYS=… gatehouse
FROM node:26.10.0-slim AS build
WORKDIR /gatehouse
COPY package.json package-lock.json .npmrc ./
COPY scripts/install.mjs scripts/
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build

FROM node:26.10.0-slim
ENV NODE_ENV=production \
    DATABASE_URL=sqlite:/data/gatehouse.db \
    LISTEN=0.0.0.0:4000 \
    CONSENT_LISTEN=0.0.0.0:4001
COPY --from=build /gatehouse/dist /gatehouse
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 4000 4001
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4000/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/gatehouse/gatehouse.js"]
CMD ["serve"]
