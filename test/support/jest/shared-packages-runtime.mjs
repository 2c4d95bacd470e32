import { isBuiltin } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Module } from 'node:vm';
import Runtime from 'jest-runtime';

/**
 * These keep what they are given by a suite: `nestjs-otel` its instruments, `@nestjs/typeorm` the entities of every
 * data source, `class-validator-jsonschema` the registry of class-validator. No shared package may import one of them.
 */
const LOADED_BY_EACH_SUITE = /\/node_modules\/(nestjs-otel|@nestjs\/typeorm|class-validator-jsonschema)\//;

/** Loads the packages of this worker; never torn down. Undefined until its first suite. */
let packages;

/**
 * Jest's runtime, but packages are loaded once for each worker, as in a service, instead of once for each suite: 3,600
 * of the 4,500 modules of a suite that starts the application. What is ours, in `src` and `test`, is still loaded for
 * each suite. Needs the environment of shared-realm-environment.mjs.
 *
 * A package is put into the suite's registry of modules before Jest looks for it there. Jest has no public hook for
 * this: the methods of its `esmLoader` may change with its version.
 */
export default class SharedPackagesRuntime extends Runtime {
  constructor(...parameters) {
    super(...parameters);
    packages ??= new Runtime(...parameters);
    const loader = this.esmLoader;
    const { resolveSpecifierForSyncGraph, resolveModule } = loader;

    loader.resolveSpecifierForSyncGraph = (from, specifier, context, scratch, registry, mode, pending) => {
      const path = this.sharedPath(from, specifier);
      const key = path && pathToFileURL(path).href;
      if (path !== undefined && !registry.has(key)) {
        const module = loadAtOnce(from, path, context, mode);
        // Jest's sign that the graph has to be loaded asynchronously.
        if (!(module instanceof Module)) return module;
        registry.set(key, module);
      }
      return resolveSpecifierForSyncGraph.call(loader, from, specifier, context, scratch, registry, mode, pending);
    };

    loader.resolveModule = async (specifier, from, context) => {
      const path = this.sharedPath(from, specifier);
      const registry = this.registries.getActiveEsmRegistry();
      const key = path && pathToFileURL(path).href;
      if (path !== undefined && !registry.has(key)) {
        const module = await packages.esmLoader.resolveModule(specifier, from, context);
        registry.set(key, await packages.esmLoader.linkAndEvaluateModule(module));
      }
      return resolveModule.call(loader, specifier, from, context);
    };
  }

  /** Jest's own `require`, of packages that each suite loads and that are CommonJS. */
  requireModule(from, name, options, isActual) {
    // What Jest itself is made of belongs to one suite.
    const isShareable = name !== undefined && !options?.isInternalModule && !isBuiltin(name);
    if (isShareable && isShared(this._resolution.resolveCjs(from, name))) {
      return packages.requireModule(from, name, options, isActual);
    }
    return super.requireModule(from, name, options, isActual);
  }

  teardown() {
    super.teardown();
    // The one registry of decorators that is not a property of the global object.
    packages.requireModule(this._testPath, 'class-transformer/cjs/storage').defaultMetadataStorage.clear();
  }

  /** The file of a shared package that `specifier` means in the file `from`. */
  sharedPath(from, specifier) {
    const isOurs = specifier.startsWith('.') && !from.includes('/node_modules/');
    if (isOurs || specifier === '@jest/globals' || specifier.startsWith('data:') || isBuiltin(specifier))
      return undefined;
    const path = this._resolution.resolveEsm(from, specifier);
    return isShared(path) ? path : undefined;
  }
}

function isShared(path) {
  return path.includes('/node_modules/') && !LOADED_BY_EACH_SUITE.test(path);
}

/** The evaluated module of a file, or Jest's sign that it cannot be loaded synchronously. */
function loadAtOnce(from, path, context, mode) {
  const loader = packages.esmLoader;
  const isEsm = path.endsWith('.json') || packages.unstable_shouldLoadAsEsm(path);
  return isEsm ? loader.tryLoadGraphSync(path, '', mode, from) : loader.loadCjsAsEsm(from, path, '', context);
}
