interface Subscribed {
  /** How many listeners want it. */
  count: number;
  /** Settles with whether the upstream has the subscription, once all requests so far are answered. */
  state: Promise<boolean>;
}

/** Sends `resources/subscribe` or `resources/unsubscribe`. Resolves with false if the upstream refuses. */
type Send = (method: 'resources/subscribe' | 'resources/unsubscribe', uri: string) => Promise<boolean>;

/**
 * The resources that a session is subscribed to (MCP 2025-11-25, "Subscriptions"). A session has one subscription to a
 * resource, however many listeners want it.
 */
export class ResourceSubscriptions {
  private readonly subscribed = new Map<string, Subscribed>();

  /** Resolves with false if the upstream refuses. Call `remove` in any case. Rejects with what `send` rejects with. */
  add(uri: string, send: Send): Promise<boolean> {
    const entry = this.subscribed.get(uri) ?? { count: 0, state: Promise.resolve(false) };
    this.subscribed.set(uri, entry);
    entry.count++;
    if (entry.count === 1) {
      entry.state = entry.state
        .catch(() => false)
        .then((isSubscribed) => isSubscribed || send('resources/subscribe', uri));
    }
    return entry.state;
  }

  /** Never rejects. */
  async remove(uri: string, send: Send): Promise<void> {
    const entry = this.subscribed.get(uri);
    if (entry === undefined || --entry.count > 0) return;
    entry.state = entry.state
      .catch(() => false)
      .then(async (isSubscribed) => {
        // Another listener may want it again.
        if (!isSubscribed || entry.count > 0) return isSubscribed;
        await send('resources/unsubscribe', uri).catch(() => undefined);
        return false;
      });
    await entry.state;
    if (entry.count === 0 && this.subscribed.get(uri) === entry) this.subscribed.delete(uri);
  }
}
