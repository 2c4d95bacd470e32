import { TestEnvironment } from 'jest-environment-node';

/** The environment of this worker. Undefined until its first suite. */
let shared;

/**
 * Jest's Node environment, made once for each worker instead of once for each suite: packages that the suites of a
 * worker share (shared-packages-runtime.mjs) and the suites have the same `Error`, `Array` and `Promise`, so
 * `instanceof` works.
 *
 * After each suite the global object, `process` and `process.env` are as before it. The registries of decorators of
 * TypeORM and class-validator are properties of the global object, so they start empty in every suite.
 */
export default class SharedRealmEnvironment extends TestEnvironment {
  constructor(config, context) {
    if (shared !== undefined) return shared;
    super(config, context);
    this.restorers = [this.global, this.global.process, this.global.process.env].map(keepProperties);
    shared = this;
  }

  /** Ends a suite, but not the environment. */
  async teardown() {
    this.fakeTimers.useRealTimers();
    this.fakeTimersModern.useRealTimers();
    for (const restore of this.restorers) restore();
    // Jest keeps what the global object had, to empty it at the end of an environment. This one does not end.
    this._globalProxy.leftovers = [];
  }
}

/** Returns a function that gives `object` the properties that it has now. */
function keepProperties(object) {
  const kept = Object.getOwnPropertyDescriptors(object);
  return () => {
    for (const key of Reflect.ownKeys(object)) if (!Object.hasOwn(kept, key)) Reflect.deleteProperty(object, key);
    for (const key of Reflect.ownKeys(kept)) {
      if (Reflect.getOwnPropertyDescriptor(object, key)?.value !== kept[key].value)
        Reflect.defineProperty(object, key, kept[key]);
    }
  };
}
