import { RunEventStore } from '../../src/runtime/events/run-event-store.js';
import type { TestApp } from './app.js';

/** Counts the subscriptions on run events that a process opens from now on and has not ended. */
export function countSubscriptions({ app }: TestApp): () => number {
  const store = app.get(RunEventStore, { strict: false });
  const subscribe = store.subscribe.bind(store);
  const open = new Set<symbol>();
  store.subscribe = async (topic, listener) => {
    const unsubscribe = await subscribe(topic, listener);
    const subscription = Symbol();
    open.add(subscription);
    return () => {
      open.delete(subscription);
      unsubscribe();
    };
  };
  return () => open.size;
}
