import type { DiscoveryService } from '@nestjs/core';
import { MetadataScanner } from '@nestjs/core';

/** What a module contributes with a decorator: a provider, or a method of one. */
export interface Contribution<Metadata, Value> {
  /** Of the decorator. */
  readonly metadata: Metadata;
  /** `Class`, or `Class.method`, for messages. */
  readonly place: string;
  /** The provider, or the method bound to its provider. */
  readonly value: Value;
}

const scanner = new MetadataScanner();

/** Every method of the application's providers with metadata under this key (`SetMetadata`). */
export function contributedMethods<Metadata, Method>(
  discovery: DiscoveryService,
  key: string,
): Contribution<Metadata, Method>[] {
  return instancesOf(discovery).flatMap((instance) =>
    scanner.getAllMethodNames(Object.getPrototypeOf(instance)).flatMap((name) => {
      const method = (instance as Record<string, unknown>)[name];
      const metadata = typeof method === 'function' ? metadataOf<Metadata>(method, key) : undefined;
      if (typeof method !== 'function' || metadata === undefined) return [];
      return [{ metadata, place: `${instance.constructor.name}.${name}`, value: method.bind(instance) as Method }];
    }),
  );
}

/** Every provider of the application whose class has metadata under this key. */
export function contributedProviders<Metadata, Provider>(
  discovery: DiscoveryService,
  key: string,
): Contribution<Metadata, Provider>[] {
  return instancesOf(discovery).flatMap((instance) => {
    // A value without a prototype has no class.
    const type: unknown = instance.constructor;
    const metadata = typeof type === 'function' ? metadataOf<Metadata>(type, key) : undefined;
    return metadata === undefined ? [] : [{ metadata, place: instance.constructor.name, value: instance as Provider }];
  });
}

/** What contributions of one sort are called, and which names they can have. */
interface NamingRule {
  /** In the singular, for messages. */
  readonly sort: string;
  readonly form?: RegExp;
  /** Names that no contribution can have. */
  readonly taken?: ReadonlySet<string>;
}

/** Contributions by name. Throws if a name is invalid or not unique, which stops the start. */
export function byName<Metadata extends string | { readonly name: string }, Value>(
  contributions: readonly Contribution<Metadata, Value>[],
  { sort, form, taken }: NamingRule,
): Map<string, Contribution<Metadata, Value>> {
  const named = new Map<string, Contribution<Metadata, Value>>();
  for (const contribution of contributions) {
    const { metadata, place } = contribution;
    const name = typeof metadata === 'string' ? metadata : metadata.name;
    if (form?.test(name) === false) throw new Error(`The ${sort} of ${place} has the invalid name "${name}".`);
    if (taken?.has(name) || named.has(name)) {
      throw new Error(`Two ${sort}s are named ${name}; one of them is ${place}.`);
    }
    named.set(name, contribution);
  }
  return named;
}

/** One provider may be listed under several tokens, or in several modules. */
function instancesOf(discovery: DiscoveryService): object[] {
  const instances = discovery.getProviders().map(({ instance }): unknown => instance);
  return [...new Set(instances)].filter((instance) => typeof instance === 'object' && instance !== null);
}

function metadataOf<Metadata>(target: object, key: string): Metadata | undefined {
  return Reflect.getOwnMetadata(key, target) as Metadata | undefined;
}
