import type { DiscoveryService } from '@nestjs/core';
import { MetadataScanner } from '@nestjs/core';

/** A decorated method of a provider, with the decorator's metadata. */
interface DecoratedMethod<Metadata> {
  readonly metadata: Metadata;
  /** `Class.method`, for messages. */
  readonly place: string;
  /** Bound to its provider. */
  readonly method: (...args: never[]) => unknown;
}

/** A decorated provider, with the metadata of its class. */
interface DecoratedProvider<Metadata> {
  readonly metadata: Metadata;
  readonly instance: object;
}

const scanner = new MetadataScanner();

/** Every method of the application's providers with metadata under this key (`SetMetadata`). */
export function decoratedMethods<Metadata>(discovery: DiscoveryService, key: string): DecoratedMethod<Metadata>[] {
  return instancesOf(discovery).flatMap((instance) =>
    scanner.getAllMethodNames(Object.getPrototypeOf(instance)).flatMap((name) => {
      const method = (instance as Record<string, unknown>)[name];
      const metadata = typeof method === 'function' ? metadataOf<Metadata>(method, key) : undefined;
      if (typeof method !== 'function' || metadata === undefined) return [];
      return [{ metadata, place: `${instance.constructor.name}.${name}`, method: method.bind(instance) }];
    }),
  );
}

/** Every provider of the application whose class has metadata under this key. */
export function decoratedProviders<Metadata>(discovery: DiscoveryService, key: string): DecoratedProvider<Metadata>[] {
  return instancesOf(discovery).flatMap((instance) => {
    // A value without a prototype has no class.
    const type: unknown = instance.constructor;
    const metadata = typeof type === 'function' ? metadataOf<Metadata>(type, key) : undefined;
    return metadata === undefined ? [] : [{ metadata, instance }];
  });
}

/** One provider may be listed under several tokens, or in several modules. */
function instancesOf(discovery: DiscoveryService): object[] {
  const instances = discovery.getProviders().map(({ instance }): unknown => instance);
  return [...new Set(instances)].filter((instance) => typeof instance === 'object' && instance !== null);
}

function metadataOf<Metadata>(target: object, key: string): Metadata | undefined {
  return Reflect.getOwnMetadata(key, target) as Metadata | undefined;
}
