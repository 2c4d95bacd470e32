FROM node:24 AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
# Nothing runs from `dist` while the image is built, so it can be a plain folder (docs/decisions/2026-11-22-builds.md).
RUN npx nest build && npx tsc --project packages

FROM node:24 AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
# Without DATABASE_URL, the embedded PostgreSQL and the encryption key are stored here.
RUN mkdir /data && chown node:node /data
VOLUME /data
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
USER node
EXPOSE 3000 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Run Node directly, so that it receives SIGTERM and shuts down gracefully.
CMD ["node", "dist/main.js"]
