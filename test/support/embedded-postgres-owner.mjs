// A service reduced to its embedded PostgreSQL: `node embedded-postgres-owner.mjs <dataDir>`. Prints one line, the URL
// or the error, and owns the server until it ends. It runs the sources as they are: Node strips the types.
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    const isSource = specifier.startsWith('.') && context.parentURL?.endsWith('.ts');
    return next(isSource ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});

const { startEmbeddedPostgres } = await import('../../src/platform/embedded-postgres/embedded-postgres.ts');

// An end without `stop()`, as after an uncaught exception.
process.once('SIGTERM', () => process.exit(0));

try {
  const { url } = await startEmbeddedPostgres({ dataDir: process.argv[2] });
  console.log(url);
} catch (error) {
  console.log(`${error.name}: ${error.message}`);
}
